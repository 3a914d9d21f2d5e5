import { CASES, type CaseName, type Figures, measure, perMessage } from './cases.ts';
import { firstRequests, imports, parkedHeaps } from './children.ts';
import { contenderNamed, NAMES } from './contenders/index.ts';
import { goals } from './goals.ts';
import { growth, IDEAL_MS, teamWall } from './inside-one-run.ts';
import { printGoal, printHead, printNotMeasured, printRow } from './report.ts';

const contenders = await Promise.all(NAMES.map(contenderNamed));

printHead(NAMES);
const cases = {} as Record<CaseName, Figures>;
for (const name of Object.keys(CASES) as CaseName[]) {
  cases[name] = await measure(name, contenders);
  printRow(CASES[name].title, CASES[name].unit, cases[name]);
}
const made = perMessage(cases.oneMade, cases.one);
const earlier = perMessage(cases.oneEarlier, cases.one);
printRow('per earlier message, hand-made', 'ns, once', made);
printRow('per earlier message, of a result', 'ns, once', earlier);

const grown = new Map<string, Awaited<ReturnType<typeof growth>>>();
for (const contender of contenders) grown.set(contender.name, await growth(contender));
printRow('step 200 ÷ step 5', '×', new Map([...grown].map(([name, { early, late }]) => [name, late / early])));

const walls = new Map<string, number>();
for (const contender of contenders) walls.set(contender.name, await teamWall(contender));
printRow(`32 workers at 50 ms, ideal ${IDEAL_MS}`, 'ms, wall', walls);

const heaps = parkedHeaps();
printRow('heap per run in its first call', 'KB', heaps);
const first = firstRequests();
printRow('start to first request (dist)', 'ms, wall', first);
const imported = await imports();
printRow("node, then import 'coxswain'", 'ms, wall', imported);

console.log('\nGoals');
const measured = {
  cases,
  made,
  earlier,
  growth: grown.get('coxswain') ?? { early: 0, late: 0 },
  heaps,
  imports: imported,
  walls,
};
for (const goal of goals(measured)) await printGoal(goal);
printNotMeasured();
