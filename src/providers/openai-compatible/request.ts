import { randomUUID } from 'node:crypto'
import type { ChatRequest } from '../../protocol/chat-request.js'
import { writeExactly } from '../../protocol/exact-data.js'
import type { SentText } from '../../protocol/request-body.js'
import { type HistoryForm, prepareMessages } from './history.js'
import { ALL_FIELDS, type FieldForm, fittingFields, knownFields } from './limits.js'

export interface RequestForm {
  /** Whether the usage of a stream is requested. */
  readonly usage: boolean
  readonly history: HistoryForm
  readonly fields: FieldForm
}

/** The form for providers that accept everything. */
export const FULL_FORM: RequestForm = {
  usage: true,
  history: {
    reasoning: 'sent',
    ownField: undefined,
    extras: true,
    shortIds: false,
    signsCalls: false,
    developerRole: true,
    systemFirst: false,
    answersResults: false,
    marksPrefix: false,
    textAlone: false,
  },
  fields: ALL_FIELDS,
}

/** Returns the JSON body to post. Messages that need no change keep the client's own bytes. */
export function buildRequestBody(
  request: ChatRequest,
  stream: boolean,
  { fields, history, usage }: RequestForm = FULL_FORM,
  sentText?: SentText,
): string | Buffer {
  const { messages } = request
  const prepared = prepareMessages(messages, history)
  const isAsSent =
    prepared.length === messages.length && prepared.every((message, index) => message === messages[index])
  const sent = isAsSent ? sentText?.take(messages) : undefined
  const body = Object.assign({}, request, fittingFields(request), knownFields(request, fields), {
    messages: sent === undefined ? prepared : undefined,
    stream: stream ? true : undefined,
    stream_options: stream && usage ? { include_usage: true } : undefined,
  })
  const text = writeExactly(body, randomUUID)
  return sent === undefined ? text : withMessages(text, sent)
}

/** Adds `messages` to the JSON text of a non-empty object. */
function withMessages(text: string, messages: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`${text.slice(0, -1)},"messages":`), messages, Buffer.from('}')])
}
