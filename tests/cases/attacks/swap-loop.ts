/** Exchanges two names until it is killed: `swap-loop.ts <a> <b>`. */
import { renameSync } from 'node:fs';

const [a = '', b = ''] = process.argv.slice(2);
const aside = `${a}.aside`;
for (let round = 0; ; round += 1) {
  renameSync(a, aside);
  renameSync(b, a);
  renameSync(aside, b);
  if (round === 0) process.send?.('swapping');
}
