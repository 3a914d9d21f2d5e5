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
