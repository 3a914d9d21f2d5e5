/** Plays one row with one contender and prints what it found as JSON: `play-row.ts <contender> <row>`. */
import { contenderNamed } from './contenders/index.ts';
import { ROWS } from './rows/index.ts';

const [name = '', id = ''] = process.argv.slice(2);
const row = ROWS.find((one) => one.id === id);
if (row === undefined) throw new Error(`no row is named ${id}`);
const finding = await row.play(await contenderNamed(name));
process.stdout.write(`\n${JSON.stringify(finding)}\n`);
// What a contender leaves running is not waited for.
process.exit(0);
