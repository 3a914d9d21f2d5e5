/** One process of the row `killed-in-tool`: `kept-program.ts <contender> <folder>`. */
import { contenderNamed } from './contenders/index.ts';
import { keptTeam } from './rows/killed-in-tool.ts';

const [name = '', folder = ''] = process.argv.slice(2);
const contender = await contenderNamed(name);
await contender.runDurable?.(keptTeam(folder), folder);
