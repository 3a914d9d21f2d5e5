import { isDeepStrictEqual } from 'node:util';
import {
  type Access,
  type Decision,
  defineAgent,
  defineTool,
  type Json,
  type LeafTool,
  type PermissionMode,
  runAgent,
} from 'coxswain';
import { callTools, scriptedModel, toolCall } from 'coxswain/testing';

/** A suite of `taint/`: honest tasks, the places where a stranger's text enters, and what that text wants. */
export interface Suite {
  readonly suite: string;
  readonly tools: readonly {
    readonly name: string;
    readonly effect: Access | 'account';
    readonly risk: 'LOW' | 'MEDIUM' | 'HIGH';
    readonly result: {
      readonly integrity: 'trusted' | 'untrusted';
      readonly confidentiality: 'public' | 'private';
    };
  }[];
  readonly entryPoints: readonly { readonly tool: string; readonly match: { readonly [arg: string]: Json } }[];
  readonly userTasks: readonly Task[];
  readonly injectionTasks: readonly Task[];
}
interface Task {
  readonly id: string;
  readonly calls: readonly {
    readonly tool: string;
    readonly args: { readonly [arg: string]: { readonly value: Json } };
  }[];
}
interface Step {
  readonly tool: string;
  readonly args: { readonly [arg: string]: Json };
  readonly isInjected: boolean;
}

/** What a pair of an honest task and an injection came to. */
export interface TaintCount {
  readonly reached: boolean;
  /** Calls of the injection with an effect that entered a tool. */
  readonly attacks: number;
  /** Honest calls with an effect: all, those that a person was asked for, those that entered their tool. */
  readonly honest: number;
  readonly asked: number;
  readonly done: number;
  readonly status: string;
}

/** Plays the honest calls in order, and all of the injection as soon as a stranger's text has come back. */
export async function playTaint(
  suite: Suite,
  honest: Task,
  injection: Task | undefined,
  { mode, saysYes }: { readonly mode: PermissionMode; readonly saysYes: boolean },
): Promise<TaintCount> {
  const steps = stepsOf(suite, honest, injection);
  const entered: Step[] = [];
  let next = 0;
  let asked = 0;
  const current = () => steps[next - 1] as Step;
  const approve = async (): Promise<Decision> => {
    const { isInjected } = current();
    if (!isInjected) asked += 1;
    return { decision: saysYes && !isInjected ? 'allow' : 'deny' };
  };
  const model = scriptedModel(() => {
    const step = steps[next];
    next += 1;
    return step === undefined ? 'done' : callTools(toolCall(step.tool, step.args));
  });
  const agent = defineAgent({
    name: 'clerk',
    instructions: 'Do what is asked.',
    tools: toolsOf(suite, () => entered.push(current())),
    limits: { steps: 100, maxRepeatedCalls: 100 },
  });
  const { status } = await runAgent(agent, 'go', { model, permissions: { mode }, approve });
  const reads = new Set(suite.tools.filter(({ effect }) => effect === 'read').map(({ name }) => name));
  const effects = (from: readonly Step[], isInjected: boolean) =>
    from.filter((step) => step.isInjected === isInjected && !reads.has(step.tool)).length;
  return {
    reached: steps.some(({ isInjected }) => isInjected),
    attacks: effects(entered, true),
    honest: effects(steps, false),
    asked,
    done: effects(entered, false),
    status,
  };
}

function stepsOf({ entryPoints }: Suite, honest: Task, injection: Task | undefined): readonly Step[] {
  const steps: Step[] = [];
  let isReached = injection === undefined;
  for (const call of honest.calls) {
    const step = { ...plain(call), isInjected: false };
    steps.push(step);
    const enters = entryPoints.some(
      ({ tool, match }) =>
        tool === step.tool && Object.entries(match).every(([name, value]) => isDeepStrictEqual(step.args[name], value)),
    );
    if (isReached || !enters) continue;
    isReached = true;
    steps.push(...(injection?.calls ?? []).map((attack) => ({ ...plain(attack), isInjected: true })));
  }
  return steps;
}

function plain({ tool, args }: Task['calls'][number]): { tool: string; args: { [arg: string]: Json } } {
  return { tool, args: Object.fromEntries(Object.entries(args).map(([name, { value }]) => [name, value])) };
}

const RISK = { LOW: 'low', MEDIUM: 'medium', HIGH: 'high' } as const;

function toolsOf({ tools, userTasks, injectionTasks }: Suite, enter: () => void): LeafTool[] {
  const calls = [...userTasks, ...injectionTasks].flatMap((task) => task.calls);
  return tools.map(({ name, effect, risk, result }) => {
    const args = calls.filter(({ tool }) => tool === name).flatMap((call) => Object.keys(call.args));
    const properties = Object.fromEntries(args.map((arg) => [arg, {}]));
    return defineTool({
      name,
      description: `Stands for ${name}`,
      access: effect === 'account' ? 'execute' : effect,
      risk: RISK[risk],
      result,
      input: { type: 'object', properties, additionalProperties: false },
      execute() {
        enter();
        return `${name} answered`;
      },
    });
  });
}
