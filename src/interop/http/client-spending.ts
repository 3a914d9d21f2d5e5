import type { Limits } from '../../core/values/limits.ts';
import type { Usage } from '../../core/values/usage.ts';
import type { ClientBudget } from './http-options.ts';
import { Problem } from './problem.ts';

/** What a run may spend: reserved in its client's budget until it is reconciled with what the run spent. */
export interface Reservation {
  readonly limits: Limits;
  reconcile(spent: { readonly usage: Usage; readonly costUsd?: number | undefined }): void;
}

interface Account {
  readonly since: number;
  tokens: number;
  costUsd: number;
}

/** What each client has spent and reserved within its window. */
export class ClientSpending {
  readonly #budget: ClientBudget;
  readonly #windowMs: number;
  readonly #accounts = new Map<string, Account>();

  constructor(budget: ClientBudget) {
    this.#budget = budget;
    this.#windowMs = budget.windowMs ?? 86_400_000;
  }

  /**
   * The limits of a run, lowered to what its client has left. That amount is reserved, so that simultaneous runs never exceed the
   * budget together.
   *
   * @throws Problem `limited` if nothing is left.
   */
  reserve(client: string, limits: Limits = {}, now = Date.now()): Reservation {
    const account = this.#accountOf(client, now);
    const tokens = this.#share(client, account, 'tokens', limits.tokens, now);
    const costUsd = this.#share(client, account, 'costUsd', limits.costUsd, now);
    account.tokens += tokens ?? 0;
    account.costUsd += costUsd ?? 0;
    let isOpen = true;
    return {
      limits: { ...limits, ...(tokens !== undefined && { tokens }), ...(costUsd !== undefined && { costUsd }) },
      reconcile({ usage, costUsd: cost }) {
        if (!isOpen) return;
        isOpen = false;
        if (tokens !== undefined) account.tokens += usage.inputTokens + usage.outputTokens - tokens;
        // Without a known price the run may have cost all that was reserved.
        if (costUsd !== undefined && cost !== undefined) account.costUsd += cost - costUsd;
        else if (costUsd !== undefined && usage.modelCalls === 0) account.costUsd -= costUsd;
      },
    };
  }

  #accountOf(client: string, now: number): Account {
    const account = this.#accounts.get(client);
    if (account !== undefined && now - account.since < this.#windowMs) return account;
    const fresh = { since: now, tokens: 0, costUsd: 0 };
    this.#accounts.set(client, fresh);
    return fresh;
  }

  #share(
    client: string,
    account: Account,
    name: 'tokens' | 'costUsd',
    limit: number | undefined,
    now: number,
  ): number | undefined {
    const budget = this.#budget[name];
    if (budget === undefined) return undefined;
    const remaining = budget - account[name];
    if (remaining > 0) return Math.min(remaining, limit ?? remaining);
    const wait = Math.max(1, Math.ceil((account.since + this.#windowMs - now) / 1_000));
    throw new Problem('limited', `The budget of ${client} (${name}) is spent or reserved by runs under way.`, {
      'retry-after': String(wait),
    });
  }
}
