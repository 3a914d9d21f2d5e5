import { ConfigurationError } from '../core/values/errors.ts';
import { stepLines } from '../telemetry/log/step-lines.ts';
import { asSent, type ReplayedRequest } from './replayed-request.ts';

const PARTS = ['model', 'instructions', 'tools', 'toolChoice', 'output', 'settings'] as const;

/**
 * The request of a model call from a step log with `content: 'full'` (secrets of known forms are redacted there); undefined if the
 * log has no such call.
 */
export async function loggedRequest(file: string, runId: string, key: string): Promise<ReplayedRequest | undefined> {
  let request: { [part: string]: unknown } = {};
  let messages: readonly object[] = [];
  for await (const line of stepLines(file)) {
    const { modelIn, path } = line;
    if (line.runId !== runId || modelIn === undefined || !key.startsWith(`${path}/`)) continue;
    if (key.slice(path.length + 1).split('/').length !== 2) continue;
    if (modelIn.from === 0) request = {};
    for (const part of PARTS) if (modelIn[part] !== undefined) request[part] = modelIn[part];
    if (typeof request.instructions !== 'string')
      throw new ConfigurationError(
        '--log',
        `${file} holds no content`,
        "Only a log with content: 'full' has requests.",
      );
    messages = [...messages.slice(0, modelIn.from), ...(modelIn.new as readonly object[])];
    if (`${path}/${line.step}/${line.call ?? 'model'}` !== key) continue;
    const present = Object.entries(request).filter(([, value]) => value !== null);
    return { ...Object.fromEntries(present), messages: messages.map(asSent) };
  }
  return undefined;
}
