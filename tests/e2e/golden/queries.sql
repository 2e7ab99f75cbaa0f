SELECT name, module, samples, round(time_s, 3) AS time_s, round(100 * time_s / sum(time_s) OVER (), 1) AS percent
FROM function_times ORDER BY time_s DESC, name LIMIT 20;
-- ('triad', 'solver', 1000, 1.0, 52.1)
-- ('fma_crunch(unsigned long)', 'solver', 400, 0.4, 20.8)
-- ('dot', 'solver', 300, 0.3, 15.6)
-- ('masked_add', 'solver', 100, 0.1, 5.2)
-- ('copy', 'solver', 50, 0.05, 2.6)
-- ('integer', 'solver', 30, 0.03, 1.6)
-- ('jit_code', '[anon]', 10, 0.01, 0.5)
-- ('漢字 </script>', 'solver', 7, 0.007, 0.4)
-- ('', 'solver', 6, 0.006, 0.3)
-- ('(1) fn=; 12', 'solver', 5, 0.005, 0.3)
-- ('�� garbage �', 'solver', 4, 0.004, 0.2)
-- ('line\none\r\ttwo', 'solver', 3, 0.003, 0.2)
-- ('recurse', 'solver', 3, 0.003, 0.2)
-- ('operator,(std::pair<a;b, "c">)', 'solver', 2, 0.002, 0.1)

SELECT t.pid, t.tid, t.name, count(*) AS samples, sum(s.weight_ns) / 1e9 AS time_s
FROM samples s JOIN threads t ON t.id = s.thread_id GROUP BY t.id ORDER BY time_s DESC, t.tid;
-- (100, 100, 'solver', 1390, 1.39)
-- (100, 101, 'solver', 500, 0.5)
-- (300, 300, 'child, "quoted";', 31, 0.031)

WITH RECURSIVE weights AS (SELECT frame_id, sum(weight_ns) AS ns FROM samples GROUP BY frame_id),
path(leaf, frame) AS (SELECT frame_id, frame_id FROM weights WHERE frame_id IS NOT NULL
  UNION ALL SELECT path.leaf, f.parent_id FROM path JOIN frames f ON f.id = path.frame WHERE f.parent_id IS NOT NULL),
on_path AS (SELECT DISTINCT path.leaf, ff.function_id FROM path JOIN frame_functions ff ON ff.frame_id = path.frame)
SELECT fn.name, sum(w.ns) / 1e9 AS time_with_callees_s
FROM on_path p JOIN weights w ON w.frame_id = p.leaf JOIN functions fn ON fn.id = p.function_id
GROUP BY fn.id ORDER BY time_with_callees_s DESC, fn.name LIMIT 20;
-- ('main', 1.92)
-- ('solve', 1.89)
-- ('triad', 1.0)
-- ('fma_crunch(unsigned long)', 0.4)
-- ('dot', 0.3)
-- ('masked_add', 0.1)
-- ('copy', 0.05)
-- ('integer', 0.03)
-- ('recurse', 0.03)
-- ('jit_code', 0.01)
-- ('漢字 </script>', 0.007)
-- ('', 0.006)
-- ('(1) fn=; 12', 0.005)
-- ('�� garbage �', 0.004)
-- ('line\none\r\ttwo', 0.003)
-- ('operator,(std::pair<a;b, "c">)', 0.002)

SELECT callee.name AS callee, caller.name AS caller, sum(s.weight_ns) / 1e9 AS time_s
FROM samples s JOIN frames f ON f.id = s.frame_id
JOIN frame_functions ff ON ff.frame_id = f.id JOIN functions callee ON callee.id = ff.function_id
LEFT JOIN frame_functions fp ON fp.frame_id = f.parent_id LEFT JOIN functions caller ON caller.id = fp.function_id
WHERE callee.id = (SELECT function_id FROM function_times ORDER BY time_s DESC LIMIT 1)
GROUP BY callee.id, caller.id ORDER BY time_s DESC;
-- ('triad', 'solve', 1.0)

SELECT m.name AS module, printf('0x%x', f.code_offset) AS address, fn.name, sum(s.weight_ns) / 1e9 AS time_s
FROM samples s JOIN frames f ON f.id = s.frame_id JOIN modules m ON m.id = f.module_id
LEFT JOIN frame_functions ff ON ff.frame_id = f.id LEFT JOIN functions fn ON fn.id = ff.function_id
GROUP BY f.module_id, f.code_offset ORDER BY time_s DESC, address LIMIT 20;
-- ('solver', '0x1001', 'triad', 1.0)
-- ('solver', '0x2001', 'fma_crunch(unsigned long)', 0.4)
-- ('solver', '0x3001', 'dot', 0.3)
-- ('solver', '0x4001', 'masked_add', 0.1)
-- ('solver', '0x5001', 'copy', 0.05)
-- ('solver', '0x6001', 'integer', 0.03)
-- ('[anon]', '0x7001', 'jit_code', 0.01)
-- ('solver', '0x20510', '漢字 </script>', 0.007)
-- ('solver', '0x20410', '', 0.006)
-- ('solver', '0x20310', '(1) fn=; 12', 0.005)
-- ('solver', '0x20210', '�� garbage �', 0.004)
-- ('solver', '0x10210', 'recurse', 0.003)
-- ('solver', '0x20110', 'line\none\r\ttwo', 0.003)
-- ('solver', '0x20010', 'operator,(std::pair<a;b, "c">)', 0.002)

SELECT e.module, printf('0x%x', e.start_offset) AS address, e.executions, hex(b.code) AS code,
  (SELECT f.name FROM functions f WHERE f.module_id = b.module_id AND f.start_offset <= b.start_offset
   ORDER BY f.start_offset DESC LIMIT 1) AS function
FROM block_executions e JOIN blocks b ON b.id = e.block_id ORDER BY e.executions DESC, b.id LIMIT 20;
-- ('solver', '0x2000', 1000000000, 'C4C2BDB8C1C4C2BDB8C9C4C2BDB8D1C4C2BDB8D948FFC975E7', 'fma_crunch(unsigned long)')
-- ('solver', '0x1000', 100000000, 'C5FD100406C4E2F5A80402C5FD1104074883C0204839C872E7', 'triad')
-- ('solver', '0x3000', 100000000, 'F20F100406F20F590402F20F58C84883C0084839C872E9', 'dot')
-- ('solver', '0x6000', 90000000, '4801D8480FAFC248FFC975F4', 'integer')
-- ('solver', '0x4000', 10000000, '62F1F549580648FFC975F5', 'masked_add')
-- ('solver', '0x5000', 5, 'F3A4C3', 'copy')

WITH scale(bytes) AS (SELECT 64.0 * 64 / CAST(value AS REAL) FROM facts WHERE key = 'traffic_classes')
SELECT (SELECT f.name FROM functions f WHERE f.module_id = t.module_id AND f.start_offset <= t.code_offset
        ORDER BY f.start_offset DESC LIMIT 1) AS function,
  sum(t.mem_read_lines + t.mem_write_allocate_lines) * scale.bytes AS read_bytes,
  sum(t.mem_write_back_lines + t.mem_non_temporal_lines) * scale.bytes AS written_bytes
FROM traffic t, scale GROUP BY function ORDER BY read_bytes + written_bytes DESC, function;
-- ('triad', 9600000000.0, 3200000000.0)
-- ('copy', 999997440.0, 409600000.0)
-- ('dot', 0.0, 0.0)

WITH lines AS (SELECT object_id, sum(mem_read_lines + mem_write_allocate_lines + mem_write_lines) AS n
               FROM object_traffic GROUP BY object_id)
SELECT o.name, o.file, o.line, o.size_bytes, round(100.0 * l.n / (SELECT sum(n) FROM lines), 1) AS percent
FROM lines l JOIN objects o ON o.id = l.object_id ORDER BY l.n DESC, o.id;
-- ('main', 'mesh.c', 88, 6400000000, 50.0)
-- ('a', '', 0, 3200000000, 50.0)

WITH slices AS (
  SELECT s.time_ns / 100000000 AS slice, fn.name, sum(s.weight_ns) AS ns
  FROM samples s JOIN frame_functions ff ON ff.frame_id = s.frame_id JOIN functions fn ON fn.id = ff.function_id
  GROUP BY slice, fn.id)
SELECT slice / 10.0 AS from_s, name, max(ns) / 1e9 AS time_s FROM slices GROUP BY slice ORDER BY slice LIMIT 50;
-- (0.0, 'triad', 0.198)
-- (0.1, 'triad', 0.2)
-- (0.2, 'triad', 0.2)
-- (0.3, 'triad', 0.2)
-- (0.4, 'triad', 0.2)
-- (0.5, 'fma_crunch(unsigned long)', 0.099)
-- (0.6, 'fma_crunch(unsigned long)', 0.1)
-- (0.7, 'fma_crunch(unsigned long)', 0.1)
-- (0.8, 'fma_crunch(unsigned long)', 0.1)
-- (0.9, 'dot', 0.099)
-- (1.0, 'dot', 0.1)
-- (1.1, 'dot', 0.1)
-- (1.2, 'masked_add', 0.099)
-- (1.3, 'copy', 0.05)

SELECT CASE kind WHEN 0 THEN 'compute' ELSE 'bandwidth' END AS what, precision || level AS which, threads,
  max(best) AS best, unit
FROM roofs WHERE by_node = 0 GROUP BY kind, precision, level, threads ORDER BY kind, which, threads;
-- ('compute', 'double', 1, 99.4, 'GFLOP/s')
-- ('compute', 'double', 2, 168.98000000000002, 'GFLOP/s')
-- ('compute', 'single', 1, 199.0, 'GFLOP/s')
-- ('compute', 'single', 2, 338.3, 'GFLOP/s')
-- ('bandwidth', 'DRAM', 1, 14.6, 'GB/s')
-- ('bandwidth', 'DRAM', 2, 24.82, 'GB/s')
-- ('bandwidth', 'L1', 1, 311.0, 'GB/s')
-- ('bandwidth', 'L1', 2, 528.6999999999999, 'GB/s')
-- ('bandwidth', 'L2', 1, 102.0, 'GB/s')
-- ('bandwidth', 'L2', 2, 173.4, 'GB/s')
-- ('bandwidth', 'L3', 1, 14.6, 'GB/s')
-- ('bandwidth', 'L3', 2, 24.82, 'GB/s')

