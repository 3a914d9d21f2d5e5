import { ConfigurationError } from '../../core/values/errors.ts';
import type { ModelRequest } from '../../core/values/model.ts';
import type { TurnOrigin } from '../answer/native-turn.ts';
import { readSettings, type Settings } from './settings.ts';
import { toolNames } from './tool-name.ts';

/** Checks that apply to every request of a protocol, whatever the model. */
export interface RequestRules {
  /** What the adapter writes itself: a setting of that name would be lost or break the exchange. */
  readonly reserved: readonly string[];
  readonly maxTools: number;
  /** Longest name of a tool. */
  readonly maxName: number;
}

export const RULES: { readonly [api in TurnOrigin['api']]: RequestRules } = {
  chat: {
    reserved: ['model', 'messages', 'tools', 'tool_choice', 'stream', 'n', 'response_format'],
    maxTools: 128,
    maxName: 64,
  },
  responses: {
    reserved: ['model', 'input', 'instructions', 'tools', 'tool_choice', 'stream', 'previous_response_id'],
    maxTools: 128,
    maxName: 64,
  },
  messages: {
    reserved: ['model', 'messages', 'system', 'tools', 'tool_choice', 'stream'],
    maxTools: Number.POSITIVE_INFINITY,
    maxName: 128,
  },
};

/**
 * Reads the settings of a request over an adapter's `extra`. Needs neither adapter nor SDK, so that a model which is loaded late
 * refuses as early as any other.
 *
 * @throws ConfigurationError where the request could never be sent
 */
export function checkRequest(request: ModelRequest, extra: object | undefined, rules: RequestRules): Settings {
  const { length } = request.tools;
  if (length > rules.maxTools) {
    throw new ConfigurationError('tools', `${length} tools, the API takes ${rules.maxTools}`, 'Give the agent fewer.');
  }
  toolNames(request.tools, rules.maxName);
  return readSettings(request, extra, rules.reserved);
}
