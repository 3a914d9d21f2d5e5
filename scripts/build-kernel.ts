/** Assembles src/memory/vectors/kernel.wat into the checked-in kernel-bytes.ts. A test compares the two. */
import { readFileSync, writeFileSync } from 'node:fs';
import { assemble } from './assemble.ts';

const FOLDER = new URL('../src/memory/vectors/', import.meta.url);

export function kernelModule(): string {
  const bytes = assemble(readFileSync(new URL('kernel.wat', FOLDER), 'utf8'));
  const lines =
    Buffer.from(bytes)
      .toString('base64')
      .match(/.{1,110}/g) ?? [];
  return `/** kernel.wat as assembled by scripts/build-kernel.ts, in base64. Do not edit. */
export const KERNEL_BYTES = [
${lines.map((line) => `  '${line}',`).join('\n')}
].join('');
`;
}

if (import.meta.main) writeFileSync(new URL('kernel-bytes.ts', FOLDER), kernelModule());
