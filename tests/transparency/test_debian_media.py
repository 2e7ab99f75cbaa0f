"""Pictures, sound, pages: wide vector code, threads, many shared libraries."""

import pytest

from debian import Scripts

SUITE = "transparency/debian"

script = Scripts()

# --- pictures ---

script("imagemagick", "c=$(readlink -f /usr/bin/convert); $c $IN/picture.ppm -resize 200% -blur 0x2 -colorspace HSL"
       " -rotate 30 -depth 8 a.ppm;"
       " $c $IN/picture.png -dither FloydSteinberg -colors 16 -strip b.gif; $c a.ppm -quality 80 -strip c.jpg; $c"
       " $IN/picture.ppm -fft"
       " +depth -format '%[mean] %wx%h\\n' info:", ["/usr/bin/convert"])
script("graphicsmagick", "gm convert $IN/picture.ppm -resize 300x200 -sharpen 0x1 -rotate 10 +profile '*' a.ppm; gm"
       " identify -verbose"
       " $IN/picture.ppm | grep -A 4 -m 1 Red; gm compare -metric PSNR $IN/picture.ppm $IN/picture.png", ["gm"])
script("netpbm", "pamscale 1.7 $IN/picture.ppm | pnmquant 32 2>/dev/null | ppmtogif 2>/dev/null | giftopnm |"
       " pnmrotate 20 >a.ppm; ppmhist"
       " -noheader a.ppm | sed -n 1,5p; pnmtopng $IN/picture.ppm 2>/dev/null | pngtopam | cmp - $IN/picture.ppm;"
       " pnmconvol -matrix=1,1,1"
       " $IN/picture.ppm | pnmpsnr - $IN/picture.ppm 2>&1 | cat", ["pamscale", "pnmquant", "ppmhist"])
script("optipng", "optipng -quiet -o3 -out a.png $IN/picture.png", slow=False)
script("pngquant", "pngquant --speed 3 -o a.png 64 $IN/picture.png")
script("cwebp", "cwebp -quiet -mt -m 4 $IN/picture.png -o a.webp; dwebp -quiet a.webp -o a.ppm -ppm; cwebp -quiet"
       " -lossless $IN/picture.png -o"
       " b.webp; dwebp -quiet b.webp -ppm -o - | cmp - $IN/picture.ppm", ["cwebp", "dwebp"])
script("jpeg", "cjpeg -quality 85 -optimize -progressive $IN/picture.ppm >a.jpg; djpeg -dct float a.jpg >a.ppm;"
       " jpegtran -rotate 90 a.jpg >b.jpg;"
       " cjpeg -dct int -arithmetic $IN/picture.ppm >c.jpg", ["cjpeg", "djpeg", "jpegtran"])
script("potrace", "pamscale 0.5 $IN/picture.ppm | ppmtopgm | pamditherbw -threshold | pamtopnm >a.pbm; potrace -s"
       " a.pbm -o - | sha256sum; potrace -g"
       " a.pbm -o a.pgm", ["potrace", "pamditherbw"])
script("povray", r"""
cat >a.pov <<'END'
#version 3.7;
global_settings { assumed_gamma 1 }
camera { location <0, 2, -5> look_at 0 }
light_source { <4, 6, -4> color rgb 1 }
sphere { 0, 1 pigment { marble turbulence 0.5 } finish { reflection 0.2 phong 1 } }
plane { y, -1 pigment { checker rgb 0.2 rgb 0.9 } }
END
povray +Ia.pov +Oa.ppm +FP +W120 +H90 -D +WT2 +A0.3 -GA >/dev/null 2>&1
sed -i /Date/d a.ppm""")
script("gnuplot", "gnuplot -e 'set terminal dumb 100 40; set samples 400; set isosamples 30;"
       " plot [0:10] sin(x) * exp(-x / 5), besj0(x); print sum [i=1:1000] 1. / i ** 2; set terminal svg; set output"
       " \"a.svg\"; splot x ** 2 - y ** 2'",
       slow=False)
script("graphviz", "{ echo 'digraph g {'; for i in {1..60}; do echo \"n$((i / 3)) -> n$i\"; done; echo '}'; }"
       " >g.dot; dot -Tplain g.dot | sha256sum;"
       " neato -Tsvg g.dot -o g.svg; dot -Tps g.dot | sed -n 1,3p", ["dot", "neato"])
script("ghostscript", "printf '%%!PS\\n/Times-Roman findfont 40 scalefont setfont 72 500 moveto (Hello) show\\n0 1"
       " 200 { dup 2 mul exch dup mul 50 div"
       " lineto } for stroke showpage\\n' >a.ps; gs -q -dBATCH -dNOPAUSE -dSAFER -sDEVICE=ppmraw -r60"
       " -sOutputFile=a.ppm a.ps; gs -q -dBATCH -dNOPAUSE"
       " -sDEVICE=pdfwrite -sOutputFile=$IN/a.pdf a.ps; pdftotext $IN/a.pdf -; pdftoppm -r 50 -gray $IN/a.pdf p; gs"
       " -q -dBATCH -dNODISPLAY -c"
       " '/f { dup 2 lt { pop 1 } { dup 1 sub f exch 2 sub f add } ifelse } def 18 f == quit'",
       ["gs", "pdftotext", "pdftoppm"], shows="Hello")
script("rsvg", "echo '<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"200\" height=\"150\"><defs><filter"
       " id=\"f\"><feGaussianBlur stdDeviation=\"3\"/>"
       "</filter></defs><circle cx=\"90\" cy=\"70\" r=\"50\" fill=\"#a3c\" filter=\"url(#f)\"/><path d=\"M0 0 C 50"
       " 90 90 20 200 150\" stroke=\"#123\""
       " fill=\"none\"/></svg>' | rsvg-convert -z 2 -o a.png", ["rsvg-convert"], slow=False)

# --- sound and video ---

script("ffmpeg", "f='ffmpeg -nostdin -v error -threads 2 -flags bitexact -fflags bitexact'; $f -f lavfi -i"
       " testsrc=s=160x120:d=1:r=10 -c:v mpeg4"
       " -flags +bitexact a.avi; $f -i a.avi -vf scale=80:60,hue=s=0 -f framemd5 -; $f -i $IN/sound.wav -af"
       " atempo=1.5,lowpass=2000 -c:a mp2"
       " b.mp2; $f -f lavfi -i testsrc=s=96x64:d=1:r=10 -c:v libx264 -preset fast -x264-params threads=2 -f h264 - |"
       " md5sum", ["ffmpeg"])
script("sox", "sox -R $IN/sound.wav a.wav reverb 30 rate 16000 gain -n -3; sox $IN/sound.wav -n stat 2>&1; sox -R"
       " $IN/sound.wav -n spectrogram -r -x 200"
       " -y 129 -o s.png; sox -R -m $IN/sound.wav $IN/sound.wav -c 2 b.aiff pitch 300", slow=False)
script("flac", "flac -s -8 -V --no-padding $IN/sound.wav -o a.flac; flac -s -d -c a.flac | cmp - $IN/sound.wav;"
       " metaflac --list --block-number=0 a.flac",
       slow=False)
script("lame", "lame --quiet -V 3 $IN/sound.wav a.mp3; lame --quiet --decode a.mp3 a.wav")
script("vorbis", "oggenc -Q -s 1 -q 5 $IN/sound.wav -o a.ogg; ogginfo a.ogg | sed -n 1,12p", ["oggenc", "ogginfo"])
script("opus", "opusenc --quiet --serial 1 --bitrate 48 $IN/sound.wav a.opus; opusdec --quiet --no-dither --rate"
       " 24000 a.opus a.wav",
       ["opusenc", "opusdec"])
script("espeak", "espeak-ng -w a.wav -s 150 'The quick brown fox'; espeak-ng -q -x -v de 'Guten Tag'", ["espeak-ng"])


@pytest.mark.parametrize("case", script)
def test_script(t, case):
    case.check(t)
