import type { Row } from '../team.ts';
import { approvalInChild } from './approval-in-child.ts';
import { failingChild } from './failing-child.ts';
import { killedInTool } from './killed-in-tool.ts';
import { malformedArguments } from './malformed-arguments.ts';
import { mutualAgents } from './mutual-agents.ts';
import { nestedConcurrency } from './nested-concurrency.ts';
import { sameChildTwice } from './same-child-twice.ts';
import { spans } from './spans.ts';
import { stepLimit } from './step-limit.ts';
import { tokenCap } from './token-cap.ts';
import { treeUsage } from './tree-usage.ts';

/** What other frameworks failed at: each is a test. */
export const ROWS: readonly Row[] = [
  sameChildTwice,
  failingChild,
  stepLimit,
  tokenCap,
  nestedConcurrency,
  approvalInChild,
  killedInTool,
  mutualAgents,
  malformedArguments,
  treeUsage,
  spans,
];
