;; The scan of a segment: one dot product a row, written to `out`. Rows lie one behind the other, `bytes` apart, padded with
;; zeros. The memory is shared, so that threads can scan parts of one. `npm run build:kernel` assembles this file into
;; kernel-bytes.ts.
(module
  (import "env" "memory" (memory 1 65536 shared))

  ;; Rows and query of f32; `bytes` is a multiple of 64. Results are f32.
  (func (export "dotF32") (param $row i32) (param $count i32) (param $bytes i32) (param $query i32) (param $out i32)
    (local $q i32) (local $end i32) (local $a v128) (local $b v128) (local $c v128) (local $d v128)
    local.get $query  local.get $bytes  i32.add  local.set $end
    block $done
      local.get $count  i32.eqz  br_if $done
      loop $rows
        i32.const 0  i32x4.splat  local.tee $a  local.tee $b  local.tee $c  local.set $d
        local.get $query  local.set $q
        loop $pieces
          local.get $row  v128.load            local.get $q  v128.load            f32x4.mul  local.get $a  f32x4.add  local.set $a
          local.get $row  v128.load offset=16  local.get $q  v128.load offset=16  f32x4.mul  local.get $b  f32x4.add  local.set $b
          local.get $row  v128.load offset=32  local.get $q  v128.load offset=32  f32x4.mul  local.get $c  f32x4.add  local.set $c
          local.get $row  v128.load offset=48  local.get $q  v128.load offset=48  f32x4.mul  local.get $d  f32x4.add  local.set $d
          local.get $row  i32.const 64  i32.add  local.set $row
          local.get $q  i32.const 64  i32.add  local.tee $q
          local.get $end  i32.lt_u  br_if $pieces
        end
        local.get $a  local.get $b  f32x4.add  local.get $c  local.get $d  f32x4.add  f32x4.add  local.set $a
        local.get $out
        local.get $a  f32x4.extract_lane 0  local.get $a  f32x4.extract_lane 1  f32.add
        local.get $a  f32x4.extract_lane 2  local.get $a  f32x4.extract_lane 3  f32.add  f32.add
        f32.store
        local.get $out  i32.const 4  i32.add  local.set $out
        local.get $count  i32.const 1  i32.sub  local.tee $count  br_if $rows
      end
    end)

  ;; Rows of i8, query of i16; `bytes` is a row's length, a multiple of 32. Results are i32.
  (func (export "dotI8") (param $row i32) (param $count i32) (param $bytes i32) (param $query i32) (param $out i32)
    (local $q i32) (local $end i32) (local $a v128) (local $b v128) (local $v v128) (local $w v128)
    local.get $query  local.get $bytes  i32.const 1  i32.shl  i32.add  local.set $end
    block $done
      local.get $count  i32.eqz  br_if $done
      loop $rows
        i32.const 0  i32x4.splat  local.tee $a  local.set $b
        local.get $query  local.set $q
        loop $pieces
          local.get $row  v128.load  local.set $v
          local.get $row  v128.load offset=16  local.set $w
          local.get $v  i16x8.extend_low_i8x16_s   local.get $q  v128.load            i32x4.dot_i16x8_s  local.get $a  i32x4.add
          local.get $v  i16x8.extend_high_i8x16_s  local.get $q  v128.load offset=16  i32x4.dot_i16x8_s  i32x4.add  local.set $a
          local.get $w  i16x8.extend_low_i8x16_s   local.get $q  v128.load offset=32  i32x4.dot_i16x8_s  local.get $b  i32x4.add
          local.get $w  i16x8.extend_high_i8x16_s  local.get $q  v128.load offset=48  i32x4.dot_i16x8_s  i32x4.add  local.set $b
          local.get $row  i32.const 32  i32.add  local.set $row
          local.get $q  i32.const 64  i32.add  local.tee $q
          local.get $end  i32.lt_u  br_if $pieces
        end
        local.get $a  local.get $b  i32x4.add  local.set $a
        local.get $out
        local.get $a  i32x4.extract_lane 0  local.get $a  i32x4.extract_lane 1  i32.add
        local.get $a  i32x4.extract_lane 2  i32.add  local.get $a  i32x4.extract_lane 3  i32.add
        i32.store
        local.get $out  i32.const 4  i32.add  local.set $out
        local.get $count  i32.const 1  i32.sub  local.tee $count  br_if $rows
      end
    end))
