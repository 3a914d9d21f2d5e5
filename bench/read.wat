;; Reads bytes once and does nothing with them but fold them into 16: the fastest that one thread can go over a memory.
(module
  (import "env" "memory" (memory 1))
  (func (export "read") (param $at i32) (param $end i32) (param $out i32)
    (local $a v128) (local $b v128) (local $c v128) (local $d v128)
    loop $pieces
      local.get $at  v128.load            local.get $a  v128.xor  local.set $a
      local.get $at  v128.load offset=16  local.get $b  v128.xor  local.set $b
      local.get $at  v128.load offset=32  local.get $c  v128.xor  local.set $c
      local.get $at  v128.load offset=48  local.get $d  v128.xor  local.set $d
      local.get $at  i32.const 64  i32.add  local.tee $at
      local.get $end  i32.lt_u  br_if $pieces
    end
    local.get $out
    local.get $a  local.get $b  v128.xor  local.get $c  v128.xor  local.get $d  v128.xor  i32x4.extract_lane 0
    i32.store))
