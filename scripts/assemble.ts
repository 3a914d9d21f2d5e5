/**
 * Assembles the part of WebAssembly's text format that our kernels are written in: one imported memory, exported functions
 * without a result, instructions in their order (not folded), blocks and loops with names. Instructions that are not in
 * OPCODES are refused. Encoding: WebAssembly Core Specification 2.0, chapter 5.
 */
type Tree = string | Tree[];

const TYPES: Record<string, number> = { i32: 0x7f, f32: 0x7d, v128: 0x7b };

/** What follows an opcode: nothing, a name of a local or label, a number, a memory address (with log2 of its alignment), a lane. */
type Immediate = 'none' | 'local' | 'label' | 'block' | 'i32' | 'lane' | { align: number };

const SIMD = 0xfd;
const OPCODES: Record<string, { code: number[]; immediate: Immediate }> = {
  block: { code: [0x02], immediate: 'block' },
  loop: { code: [0x03], immediate: 'block' },
  end: { code: [0x0b], immediate: 'none' },
  br_if: { code: [0x0d], immediate: 'label' },
  'local.get': { code: [0x20], immediate: 'local' },
  'local.set': { code: [0x21], immediate: 'local' },
  'local.tee': { code: [0x22], immediate: 'local' },
  'i32.store': { code: [0x36], immediate: { align: 2 } },
  'f32.store': { code: [0x38], immediate: { align: 2 } },
  'i32.const': { code: [0x41], immediate: 'i32' },
  'i32.eqz': { code: [0x45], immediate: 'none' },
  'i32.lt_u': { code: [0x49], immediate: 'none' },
  'i32.add': { code: [0x6a], immediate: 'none' },
  'i32.sub': { code: [0x6b], immediate: 'none' },
  'i32.shl': { code: [0x74], immediate: 'none' },
  'f32.add': { code: [0x92], immediate: 'none' },
  'v128.load': { code: [SIMD, ...unsigned(0x00)], immediate: { align: 4 } },
  'i32x4.splat': { code: [SIMD, ...unsigned(0x11)], immediate: 'none' },
  'i32x4.extract_lane': { code: [SIMD, ...unsigned(0x1b)], immediate: 'lane' },
  'f32x4.extract_lane': { code: [SIMD, ...unsigned(0x1f)], immediate: 'lane' },
  'v128.xor': { code: [SIMD, ...unsigned(0x51)], immediate: 'none' },
  'i16x8.extend_low_i8x16_s': { code: [SIMD, ...unsigned(0x87)], immediate: 'none' },
  'i16x8.extend_high_i8x16_s': { code: [SIMD, ...unsigned(0x88)], immediate: 'none' },
  'i32x4.add': { code: [SIMD, ...unsigned(0xae)], immediate: 'none' },
  'i32x4.dot_i16x8_s': { code: [SIMD, ...unsigned(0xba)], immediate: 'none' },
  'f32x4.add': { code: [SIMD, ...unsigned(0xe4)], immediate: 'none' },
  'f32x4.mul': { code: [SIMD, ...unsigned(0xe6)], immediate: 'none' },
};

/** The module's bytes. Throws where the text is not of the part described above. */
export function assemble(text: string): Uint8Array {
  const [head, ...fields] = listOf(parse(text));
  if (head !== 'module') throw new Error('expected (module …)');
  const imports = fields.filter((field) => field[0] === 'import').map(listOf);
  const functions = fields.filter((field) => field[0] === 'func').map((field) => functionOf(listOf(field)));
  const count = unsigned(functions.length);
  const types = functions.flatMap(({ params }) => [0x60, ...vector(params), 0x00]);
  const exports = functions.flatMap(({ name }, index) => [...named(name), 0x00, ...unsigned(index)]);
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, [...count, ...types]),
    ...section(2, [...unsigned(imports.length), ...imports.flatMap(importOf)]),
    ...section(3, [...count, ...functions.flatMap((_, index) => unsigned(index))]),
    ...section(7, [...count, ...exports]),
    ...section(10, [...count, ...functions.flatMap(({ body }) => vector(body))]),
  ]);
}

function importOf([, module, name, memory]: Tree[]): number[] {
  const [kind, pages, most, shared] = listOf(memory);
  if (kind !== 'memory') throw new Error('only a memory can be imported');
  if ((most === undefined) !== (shared !== 'shared')) throw new Error('expected (memory n) or (memory n most shared)');
  const limits = most === undefined ? [0x00, ...unsigned(Number(pages))] : [0x03, ...[pages, most].flatMap(pagesOf)];
  return [...named(unquoted(module)), ...named(unquoted(name)), 0x02, ...limits];
}

function pagesOf(count: Tree | undefined): number[] {
  return unsigned(Number(count));
}

function functionOf([, ...parts]: Tree[]): { name: string; params: number[]; body: number[] } {
  const declared = parts.filter((part) => Array.isArray(part));
  const of = (kind: string) => declared.filter(([head]) => head === kind);
  const params = of('param').map(([, , type]) => typeOf(type));
  const locals = of('local').map(([, , type]) => typeOf(type));
  const names = [...of('param'), ...of('local')].map(([, name]) => String(name));
  const code = instructions(
    parts.filter((part) => typeof part === 'string'),
    names,
  );
  const body = [...unsigned(locals.length), ...locals.flatMap((type) => [1, type]), ...code, 0x0b];
  return { name: unquoted(of('export')[0]?.[1]), params, body };
}

function instructions(tokens: readonly string[], locals: readonly string[]): number[] {
  const bytes: number[] = [];
  const labels: string[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const name = tokens[at] ?? '';
    const opcode = OPCODES[name];
    if (opcode === undefined) throw new Error(`unknown instruction ${name}`);
    bytes.push(...opcode.code);
    const { immediate } = opcode;
    if (name === 'end') labels.pop();
    if (immediate === 'none') continue;
    const next = tokens[at + 1] ?? '';
    if (typeof immediate === 'object') {
      const offset = next.startsWith('offset=') ? Number(next.slice('offset='.length)) : 0;
      if (next.startsWith('offset=')) at++;
      bytes.push(immediate.align, ...unsigned(offset));
      continue;
    }
    at++;
    if (immediate === 'block') {
      labels.push(next);
      bytes.push(0x40);
    } else if (immediate === 'label') bytes.push(labels.length - 1 - indexOf(labels, next));
    else if (immediate === 'local') bytes.push(...unsigned(indexOf(locals, next)));
    else if (immediate === 'lane') bytes.push(Number(next));
    else bytes.push(...signed(Number(next)));
  }
  if (labels.length > 0) throw new Error(`no end of ${labels.at(-1)}`);
  return bytes;
}

function indexOf(names: readonly string[], name: string): number {
  const index = names.lastIndexOf(name);
  if (index < 0) throw new Error(`unknown name ${name}`);
  return index;
}

function parse(text: string): Tree {
  const tokens = text.replace(/;;.*$/gm, '').match(/[()]|"[^"]*"|[^\s()"]+/g) ?? [];
  const stack: Tree[][] = [[]];
  for (const token of tokens) {
    if (token === '(') stack.push([]);
    else if (token === ')') {
      const done = stack.pop() ?? [];
      const around = stack.at(-1);
      if (around === undefined) throw new Error('a ) too many');
      around.push(done);
    } else stack.at(-1)?.push(token);
  }
  const [whole, ...more] = stack.pop() ?? [];
  if (stack.length > 0 || whole === undefined || more.length > 0) throw new Error('parentheses do not close');
  return whole;
}

function listOf(tree: Tree | undefined): Tree[] {
  if (!Array.isArray(tree)) throw new Error(`expected a list, got ${tree}`);
  return tree;
}

function typeOf(name: Tree | undefined): number {
  const type = typeof name === 'string' ? TYPES[name] : undefined;
  if (type === undefined) throw new Error(`unknown type ${name}`);
  return type;
}

function unquoted(token: Tree | undefined): string {
  if (typeof token !== 'string' || !token.startsWith('"')) throw new Error(`expected a quoted name, got ${token}`);
  return token.slice(1, -1);
}

function section(id: number, bytes: readonly number[]): number[] {
  return [id, ...vector(bytes)];
}

function vector(bytes: readonly number[]): number[] {
  return [...unsigned(bytes.length), ...bytes];
}

function named(name: string): number[] {
  return vector([...new TextEncoder().encode(name)]);
}

/** LEB128. */
function unsigned(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >>> 7)];
}

function signed(value: number): number[] {
  if (value >= -0x40 && value < 0x40) return [value & 0x7f];
  return [(value & 0x7f) | 0x80, ...signed(value >> 7)];
}
