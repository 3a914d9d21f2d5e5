import { CASES, type CaseName, measure } from './cases.ts';
import { aiSdk } from './contenders/ai-sdk.ts';
import { coxswain } from './contenders/coxswain.ts';
import { floor } from './contenders/floor.ts';
import { handLoop } from './contenders/hand-loop.ts';

const contenders = [handLoop, floor, coxswain, aiSdk];
for (const name of Object.keys(CASES) as CaseName[]) {
  const figures = await measure(name, contenders);
  console.log(
    CASES[name].title.padEnd(34),
    CASES[name].unit.padEnd(12),
    [...figures].map(([n, v]) => `${n} ${v.toFixed(2)}`).join('  '),
  );
}
