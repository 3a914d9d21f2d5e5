import { decide, type Level } from './decide.ts';
import { readRuleValue } from './rule-value.ts';
import { namesTool, type Rule, type RuledTool, scopeHolds } from './rules.ts';

/** What a permission says of one of the values that a call's argument stands for. */
export type Restriction = 'deny' | 'ask';

const TRUSTED = { integrity: 'trusted', confidentiality: 'public', origins: [] } as const;

/**
 * What rules say of values that a call's argument covers, such as the files of a folder. The call itself was judged by its argument,
 * which may be a pattern that no rule fits, though it covers what rules speak of.
 *
 * @param tool the called one: its rules of the kinds deny and ask hold for each value.
 * @param given the call's argument. What a rule asked for it has been answered.
 * @param other a tool which would read one such value alone: what would be denied or asked of its call counts too.
 * @returns undefined where no rule could speak of any value.
 */
export function restrictionBy(
  levels: readonly Level[],
  tool: RuledTool,
  given: unknown,
  other: RuledTool,
): ((value: string) => Restriction | undefined) | undefined {
  const argument = readRuleValue(given);
  const isAnswered = (rule: Rule) => rule.effect === 'ask' && namesTool(rule, tool) && scopeHolds(rule, argument);
  const ofOther = levels.map(({ source, rules, mode }) => ({
    ...{ source, rules: rules.filter((rule) => namesTool(rule, other) && !isAnswered(rule)) },
    mode: mode === 'unattended' ? mode : undefined,
  }));
  const ofTool = levels.map(({ source, rules }) => ({
    source,
    rules: rules.filter((rule) => isNarrowing(rule) && namesTool(rule, tool) && !isAnswered(rule)),
  }));
  if ([...ofOther, ...ofTool].every(({ rules }) => rules.length === 0)) return undefined;
  return (value) => {
    const verdicts = [judged(ofTool, tool, value), judged(ofOther, other, value)];
    return verdicts.find((verdict) => verdict === 'deny') ?? verdicts.find((verdict) => verdict !== undefined);
  };
}

function isNarrowing({ effect }: Rule): boolean {
  return effect === 'deny' || effect === 'ask';
}

/** As if each were a call of a tool that reads. */
function judged(levels: readonly Level[], { name, aliases }: RuledTool, value: string): Restriction | undefined {
  const tool = { name, aliases, ruleArg: 'value', access: 'read' } as const;
  const { verdict } = decide({ tool, args: { value }, label: TRUSTED, levels });
  return verdict === 'allow' ? undefined : verdict;
}
