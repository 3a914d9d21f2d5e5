import type { Label } from '../values/label.ts';
import type { Message } from '../values/message.ts';

/** The messages that an invocation of a model begins with. */
export interface InitialMessages {
  readonly brief: readonly Message[];
  /** Leading messages of the brief whose labels are joined and whose tokens are bounded already. */
  readonly known?:
    | { readonly messages: readonly Message[]; readonly label: Label; readonly bound: number | undefined }
    | undefined;
}
