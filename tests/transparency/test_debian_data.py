"""Compressors, databases, ciphers, and tools for text and files."""

import pytest

from debian import Scripts, find, same_counted, words

SUITE = "transparency/debian"

script = Scripts()

# --- compressors: packed bytes and what comes out of them again ---

script("gzip", "gzip -9 -n -c $IN/text >t.gz; gzip -dc t.gz | cmp - $IN/text; echo no | gzip -dc || echo $?",
       slow=False)
script("bzip2", "bzip2 -c $IN/text >t; bzip2 -dc t | cmp - $IN/text")
script("xz", "xz -2 -T2 --block-size=100000 -c $IN/text >t; xz -dc -T2 t | cmp - $IN/text; xz -l t", slow=False)
script("zstd", "zstd -T2 -q -12 -c $IN/text >t; zstd -dc -q t | cmp - $IN/text", slow=False)
script("lz4", "lz4 -q -9 -c $IN/text >t; lz4 -dc -q t | cmp - $IN/text")
script("brotli", "brotli -q 7 -c $IN/text >t; brotli -dc t | cmp - $IN/text")
script("7z", "cp -p $IN/text a; touch -d @1 a; 7zr a -mx=5 -mmt=2 -bd -bso0 t.7z a; rm a; 7zr x -bso0 t.7z; cmp a"
       " $IN/text;"
       " 7zr l -slt t.7z | grep -e Size -e CRC", ["/usr/lib/p7zip/7zr", "7zr"])
script("zip", "cp $IN/text a; touch -d @1000000000 a; TZ=UTC zip -q -X -9 t.zip a; unzip -lv t.zip; unzip -p t.zip |"
       " cmp - a",
       ["zip", "unzip"])
script("lzop", "touch -d @1 a; cat $IN/text | lzop -c >t; lzop -dc t | cmp - $IN/text; rm t")
script("pigz", "pigz -p 2 -b 128 -n -c $IN/text >t; pigz -dc t | cmp - $IN/text", slow=False)
script("pbzip2", "pbzip2 -p2 -b1 -c $IN/text >t; pbzip2 -p2 -dc t | cmp - $IN/text")
script("lrzip", "cp $IN/text a; lrzip -Q -p 2 -L 5 a; lrunzip -Q -o b a.lrz; cmp a b; rm a.lrz")
script("tar", "mkdir d; for i in 1 2 3 4; do seq $i 9999 >d/$i; done; ln -s 1 d/l; ln d/2 d/h; tar --sort=name"
       " --mtime=@0 -czf - d"
       " | tar -tzf - | cat; tar --mtime=@0 --sort=name -cJf t.xz d; mkdir e; tar -xf t.xz -C e; diff -r d e/d",
       slow=False)

# --- databases ---

script("sqlite3", r"""
sqlite3 -batch -bail t.db 2>&1 <<'END' || echo $?
CREATE TABLE t (id INTEGER PRIMARY KEY, x REAL, name TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000)
INSERT INTO t SELECT i, (i * 7919) % 1000 / 8.0, 'name' || (i % 100) FROM n;
CREATE INDEX names ON t (name);
SELECT name, count(*), round(avg(x), 6), max(x) FROM t GROUP BY name ORDER BY 3 DESC LIMIT 5;
SELECT sum(a.x * b.x) FROM t a JOIN t b ON a.id = b.id + 1;
UPDATE t SET x = x * 2 WHERE id % 3 = 0; DELETE FROM t WHERE id % 5 = 0; VACUUM;
PRAGMA integrity_check;
SELECT no_such_column FROM t;
END
""", shows="ok\n", slow=False)
script("berkeley_db", "seq 4000 | sed 'p;s/.*/value &/' | db5.3_load -T -t btree t.db; db5.3_verify t.db; db5.3_dump"
       " -p t.db | sha256sum;"
       " db5.3_stat -d t.db | grep -e keys -e levels; rm t.db",
       ["db5.3_load", "db5.3_verify", "db5.3_stat", "db5.3_dump"])
script("lmdb", "mkdir d; { printf"
       " 'VERSION=3\\nformat=print\\ntype=btree\\nmapsize=4194304\\nmaxreaders=9\\ndb_pagesize=4096\\n"
       "HEADER=END\\n'; seq 3000 | sed 's/^/ /;p;s/ / value /'; echo DATA=END; } | mdb_load d; mdb_stat -e d | grep"
       " -v -i map;"
       " mdb_dump -p d | sha256sum; mdb_copy d | wc -c; rm -r d", ["mdb_load", "mdb_stat", "mdb_dump", "mdb_copy"])
script("redis", r"""
cat >c <<'END'
port 0
unixsocket s
save ""
daemonize no
logfile /dev/null
enable-debug-command yes
END
bash -c 'exec -a redis-server redis-check-rdb c' & 
for i in {1..100}; do redis-cli -s s ping >/dev/null 2>&1 && break; sleep 0.05; done
seq 2000 | sed 's/.*/set k& value&/' | redis-cli -s s | sort | uniq -c
redis-cli -s s eval 'local n = 0 for i = 1, 1000 do n = n + redis.call("strlen", "k" .. i) end return n' 0
redis-cli -s s lpush l a b c; redis-cli -s s sort l alpha; redis-cli -s s debug digest
redis-cli -s s shutdown nosave; wait
rm -f s dump.rdb""", ["redis-check-rdb", "redis-cli"])
script("mariadb", r"""
mkdir d
{ printf 'create database mysql;\ncreate database b;\nuse b;\n'
echo 'create table t (i int primary key, x double, s varchar(20)) engine=aria;'
for i in {1..400}; do echo "insert into t values ($i, $i * 1.5, concat('s', $i % 7));"; done
echo "select s, count(*), sum(x), avg(x) from t group by s order by 3 into outfile '$PWD/out';"; } |
mariadbd --no-defaults --bootstrap --user=root --datadir=$PWD/d --lc-messages-dir=/usr/share/mysql --skip-innodb \
  --default-storage-engine=aria --log-error=$PWD/d/log 2>/dev/null
cat out; rm -r d""", ["mariadbd"], shows="s0\t57\t")

# --- ciphers and checksums ---

script("openssl", "for d in sha512 sha3-256 md5 blake2b512; do openssl dgst -$d $IN/text; done | sed 's/.*= //';"
       " openssl enc -aes-256-cbc -pbkdf2 -S 0011223344556677 -k x -in $IN/text -out e; openssl enc -d -aes-256-cbc"
       " -pbkdf2 -k x"
       " -S 0011223344556677 -in e | cmp - $IN/text; openssl enc -chacha20 -K 00 -iv 00 -in $IN/text 2>/dev/null |"
       " md5sum;"
       " openssl prime -generate -bits 512 | wc -c; openssl genpkey -algorithm ed25519 | openssl pkey -pubout | wc -l;"
       " printf 'asn1=SEQUENCE:s\\n[s]\\na=INTEGER:5\\n' >c; openssl asn1parse -genconf c", slow=False)
script("gpg", "export GNUPGHOME=$IN; gpg --batch --passphrase x --pinentry-mode loopback -q -c -o - $IN/text | gpg"
       " --batch --passphrase"
       " x --pinentry-mode loopback -q -d | cmp - $IN/text; gpg --print-md SHA256 <$IN/text; gpgconf --kill all")
script("checksums", "cd $IN; sha1sum text; sha256sum text; sha512sum text; md5sum text; b2sum text; cksum text; sum"
       " text; base64 text"
       " | base64 -d | cmp - text", ["sha256sum", "b2sum", "cksum"], slow=False)

# --- text and files ---

script("coreutils", "seq 20000 | awk '{ s += $1 * 1.5 } END { print s }'; printf '%s\\n' c a b | sort | tr abc xyz;"
       " false | true ||"
       " echo ${PIPESTATUS[0]}; sort --parallel=2 -S 1M -k5 $IN/text | sha256sum; cut -c3-9 $IN/text | uniq -c |"
       " tail -n 2; comm <(seq"
       " 5) <(seq 3 7); factor 1234567890123456789; shuf -i 1-50 --random-source=$IN/text | sed -n 1,3p; split -n"
       " l/3 $IN/text x; wc x*;"
       " od -A n -t fF -N 32 $IN/text; numfmt --to=iec 123456789; join <(seq 9) <(seq 5 8); tsort <<<'a b b c'",
       ["sort", "factor"],
       slow=False)
script("find_and_xargs", "mkdir -p a/{1..9}/{x,y}; touch a/{1..9}/x/{m,n}; find a -name 'm' -print0 | xargs -0 -P 2"
       " -n 4 ls | sort; find a"
       " -type d -empty -delete -o -type f -size 0 -exec echo {} + | wc; find a | sort | grep -c /",
       ["find", "xargs", "grep"],
       slow=False)
script("diff_and_patch", "sed 's/the/THE/; 500d; 900a new' $IN/text >b; diff -u --label a --label b $IN/text b >d ||"
       " echo $?; cp $IN/text c; patch"
       " -s c d; cmp b c; diff3 -m $IN/text $IN/text b | cmp - b; { sdiff -s $IN/text b || true; } | wc -l; grep -nE"
       " '(th|he)+ [a-m]{3,}$' b | tail -n 3;"
       " grep -cP '(?<=t)h(?!e)' b", ["diff", "patch", "grep"])
script("git", r"""
git init -q -b main . ; for i in 1 2 3; do seq $i 999 >f$i; git add f$i; git commit -qm $i; done
git checkout -q -b side HEAD~1; seq 50 >f4; git add .; git commit -qm side; git checkout -q main
git merge -q side -m merge
git clone -q . copy; git -C copy log --format=%H-%s; git gc -q; git fsck; git blame -s f3 | tail -n 1
git diff --stat HEAD~1
git archive HEAD | sha256sum; git rebase -q --onto HEAD~1 HEAD~1 side; git log --oneline --graph; rm -rf .git copy""",
       slow=False,
       env={f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "a"), ("EMAIL", "a@b"), ("DATE", "2020-01-01T00:00:00Z"))})
script("rsync", "mkdir a; for i in 1 2 3; do seq $i 5000 >a/$i; done; rsync -a a/ b; echo x >>a/2; touch -d @1 a/2;"
       " rsync -ac --no-whole-file --itemize-changes"
       " a/ b; diff -r a b")
script("groff", "printf '.TH a 1\\n.SH NAME\\na \\\\- b\\n.PP\\ntext\\n.TS\\nl l.\\n1\\t2\\n.TE\\n.EQ\\nx sup"
       " 2\\n.EN\\n' >a.1; groff -t -e"
       " -man -Tascii a.1; groff -t -e -man -Tps a.1 | grep -v -e Date -e '^%%Creat' | sha256sum; man -P cat -l a.1"
       " | tail -n 3",
       ["/usr/bin/troff", "groff", "man"])
script("xml", "{ echo '<list>'; seq -f \"<item n='%g'>text</item>\" 3000; echo '</list>'; } >d.xml; xmllint --xpath"
       " 'count(//item[@n mod 3 ="
       " 0])' d.xml; xmllint --format d.xml | sha256sum; xmllint --noout d.xml x.xml || echo $?; cat >s.xsl <<'END'\n"
       "<xsl:stylesheet version='1.0' xmlns:xsl='http://www.w3.org/1999/XSL/Transform'><xsl:output method='text'/>"
       "<xsl:template match='/'><xsl:for-each select='//item[@n &lt; 50]'><xsl:sort select='@n' order='descending'"
       "/><xsl:value-of select='@n * 2'/>,</xsl:for-each></xsl:template></xsl:stylesheet>\nEND\nxsltproc s.xsl d.xml",
       ["xmllint", "xsltproc"], shows="1000")
script("aspell", "head -n 300 $IN/text | aspell list -d en | sort | uniq -c | sort -rn | sed -n 1,5p; echo 'helo"
       " wrold' | aspell -a -d en"
       " | tail -n +2")
script("man_and_info", "printf 'The quick brown fox\\n' | ul; column -t <<<$'a b\\nccc d'; look zz /dev/null || echo"
       " $?", ["column", "ul"])
script("datamash", "seq 5000 | datamash sum 1 mean 1 sstdev 1 median 1; tr ' ' '\\n' <$IN/text | sort | datamash -g"
       " 1 count"
       " 1 | sort -k2n | tail -n 2")
script("minisat_and_z3", "{ echo p cnf 60 250; awk 'BEGIN { srand(7); for (i = 0; i < 250; i++) { for (k = 0; k < 3;"
       " k++) printf \"%d \","
       " (int(rand() * 60) + 1) * (rand() < 0.5 ? -1 : 1); print 0 } }'; } >p.cnf; minisat -verb=0 p.cnf out || echo"
       " $?; cat out; z3"
       " -in <<<'(declare-const x Int) (declare-const y Int) (assert (= (+ (* x x) (* y y)) 1105)) (assert (< 0 x y))"
       " (check-sat) (get-model)'", ["minisat", "z3"])
script("busybox", "busybox sh -c 'busybox seq 20000 | busybox sort -rn | busybox sha256sum; exit 9' || echo $?; ln"
       " -s $(command -v busybox)"
       " basename; ./basename /a/b; busybox awk 'BEGIN { print 7 / 4 }'; busybox gzip -c <$IN/text | busybox gunzip"
       " | cmp - $IN/text",
       shows="9\nb\n", slow=False)


@pytest.mark.parametrize("case", script)
def test_script(t, case):
    case.check(t)


def test_without_shell(t):
    """A program by itself, without a shell, that reads a pipe."""
    for command in ([find("gzip"), "-9", "-n", "-c"], [find("sort"), "--parallel=2", "-k5"]):
        same_counted(t, " ".join(command), command, command[:1], stdin=words())
