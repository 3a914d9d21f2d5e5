export {
  type Baseline,
  type CaseResult,
  type EvaluateOptions,
  type Evaluation,
  type EvaluationCase,
  evaluate,
  saveBaseline,
} from './evaluate.ts';
export {
  type FakeAnswer,
  type FakeProvider,
  type FakeRequest,
  type FakeScript,
  fakeProvider,
} from './fake-provider.ts';
export type { ExpectedCall } from './match-calls.ts';
export { recordModel } from './record-model.ts';
export { type RecordedModelOptions, recordedModel } from './recorded-model.ts';
export { type RecordedRun, recordedRun } from './recorded-run.ts';
export {
  callTools,
  type Script,
  type ScriptedModel,
  type ScriptedModelOptions,
  type ScriptedTurn,
  say,
  scriptedModel,
  type TurnFunction,
  toolCall,
} from './scripted-model.ts';
export type { FakeExchange } from './wire/message.ts';
