import { defineAgent, type Json, type RunPermissions, runAgent, type Tool, ToolError } from 'coxswain';

/** What one call gave its caller, or the error that it rejected with. */
export type Called = { readonly value: unknown } | { readonly code: string; readonly message: string };

/** Makes calls one after another in one invocation; without `permissions` everything is allowed. */
export async function callEach(
  tools: readonly Tool[],
  calls: readonly (readonly [name: string, args: { readonly [name: string]: Json }] | (() => unknown))[],
  // What a file says is untrusted, and the next call is an effect: here that is not the question.
  permissions: RunPermissions = { mode: 'acceptAll', rules: ['allow! *'] },
): Promise<readonly Called[]> {
  const results: Called[] = [];
  const caller = defineAgent({
    name: 'caller',
    description: 'Calls',
    input: { type: 'object' },
    async run(_, flow) {
      for (const call of calls) {
        if (typeof call === 'function') {
          await call();
          continue;
        }
        const [name, args] = call;
        const tool = tools.find((one) => one.name === name);
        if (tool === undefined) throw new Error(`there is no tool ${name}`);
        results.push(await settled(flow.tool(tool, args as never)));
      }
      return null;
    },
  });
  const result = await runAgent(caller, {}, { permissions });
  if (result.status !== 'completed') throw new Error(`${result.status}: ${JSON.stringify(result)}`);
  return results;
}

async function settled(call: Promise<unknown>): Promise<Called> {
  try {
    return { value: await call };
  } catch (thrown) {
    if (!(thrown instanceof ToolError)) throw thrown;
    return { code: thrown.code, message: thrown.message };
  }
}
