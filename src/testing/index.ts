export {
  type FakeAnswer,
  type FakeExchange,
  type FakeProvider,
  type FakeRequest,
  type FakeScript,
  fakeProvider,
} from './fake-provider.ts';
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
