import type { Read, Sent } from '../../core/loop/mailbox.ts';
import type { Arrival, Inbox } from '../../core/runtime/inbox.ts';
import { deepFreeze } from '../../core/values/json.ts';
import type { Row } from '../../journal/row.ts';

/** What came in earlier epochs: what has entered or was read does not come again, what was sent and not read waits. */
export function restoreInbox(inbox: Inbox, rows: readonly Row[]): void {
  const decided = rows.filter(({ kind }) => kind === 'once');
  for (const { key, value } of decided) {
    if (key.endsWith('/@inbox')) remember(inbox, value as unknown as readonly Arrival[]);
    if (key.endsWith('/@read')) remember(inbox, (value as unknown as Read).messages);
  }
  for (const { key, value } of decided) {
    const sent = key.endsWith('/@sent') ? (value as unknown as Sent) : undefined;
    if (sent !== undefined && 'to' in sent) inbox.put(sent.to, { id: sent.id, message: deepFreeze(sent.message) });
  }
}

function remember(inbox: Inbox, arrivals: readonly Arrival[]): void {
  for (const { id } of arrivals) inbox.remember(id);
}
