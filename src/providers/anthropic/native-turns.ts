import { type CallIds, callIdsFor, idForClaude } from '../../conversation/call-ids.js'
import { type CallsAndResults, NO_RESULT, orphanWords, settleResults } from '../../conversation/results.js'
import { isClaude } from '../../conversation/thoughts.js'
import { isObject, isText, type JsonObject, textOf } from '../../protocol/json-values.js'
import type { MessagesRequest } from '../../protocol/messages-request.js'
import { sameId } from '../openai-input/call-ids.js'

type Messages = MessagesRequest['messages']

const isCall = ({ type }: JsonObject): boolean => type === 'tool_use'
const isResult = ({ type }: JsonObject): boolean => type === 'tool_result'
/** Whether a block has no text, which the API refuses. */
export const isBlank = ({ text, type }: JsonObject): boolean =>
  type === 'text' && typeof text === 'string' && text.trim() === ''

function blocksOf({ content }: JsonObject): readonly JsonObject[] {
  return Array.isArray(content) ? content.filter(isObject) : []
}

/** Returns the one result that an element is. See {@link toElements}. */
function resultIn(message: JsonObject): JsonObject | undefined {
  const [first] = blocksOf(message)
  return first !== undefined && isResult(first) ? first : undefined
}

const CALLS: CallsAndResults<JsonObject> = {
  callsOf: (message) =>
    blocksOf(message)
      .filter(isCall)
      .map(({ id }) => textOf(id) ?? ''),
  resultOf: (message) => {
    const result = resultIn(message)
    return result === undefined ? undefined : (textOf(result.tool_use_id) ?? '')
  },
  missing: (id) => ({
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: id, content: NO_RESULT, is_error: true }],
  }),
  saidBy: (message) => resultIn(message)?.content,
  orphan: (message, id) => {
    const content = resultIn(message)?.content
    const words = { type: 'text', text: orphanWords(id) }
    const said = isText(content) ? [{ type: 'text', text: content }] : Array.isArray(content) ? content : []
    return { role: 'user', content: [words, ...said] }
  },
}

/**
 * Returns messages that the API takes: results right behind their calls and before anything else, ids that occur once,
 * and no blank text. Clients send other ones back if they got them from another provider. Returns the same list if it is
 * right already.
 */
export function fittingTurns(messages: Messages, model: string): Messages {
  const { elements, isAsSent } = toElements(messages)
  const settled = settleResults(elements, CALLS)
  const ids = callIdsFor(settled, CALLS, isClaude(model) ? idForClaude : sameId)
  if (isAsSent && settled === elements && ids === undefined) return messages
  const joined = joinTurns(settled)
  return ids === undefined ? joined : joined.map((message) => withIds(message, ids))
}

/**
 * Splits messages, so that each result is an element. The results of calls come before the rest of their message, and
 * others stay at their place.
 */
function toElements(messages: Messages): { elements: readonly JsonObject[]; isAsSent: boolean } {
  const elements: JsonObject[] = []
  const called = new Set<unknown>()
  let isAsSent = true
  for (const message of messages) {
    const { content, role } = message
    if (!Array.isArray(content)) {
      elements.push(message)
      continue
    }
    const isCalled = (block: unknown) => isObject(block) && isResult(block) && called.has(block.tool_use_id)
    const results = content.filter(isCalled)
    const rest = content.filter((block) => !isCalled(block) && !(isObject(block) && isBlank(block)))
    const hasOrphans = rest.some((block) => isObject(block) && isResult(block))
    const isFirst = results.every((result, position) => result === content[position])
    for (const block of content) if (isObject(block) && isCall(block)) called.add(block.id)
    if (!isFirst || hasOrphans || results.length + rest.length < content.length) isAsSent = false
    else if (results.length === 0) {
      elements.push(message)
      continue
    }
    for (const result of results) elements.push({ role, content: [result] })
    let said: unknown[] = []
    for (const block of rest) {
      if (!isObject(block) || !isResult(block)) {
        said.push(block)
        continue
      }
      if (said.length > 0) elements.push({ role, content: said })
      elements.push({ role, content: [block] })
      said = []
    }
    if (said.length > 0) elements.push({ role, content: said })
  }
  return { elements, isAsSent }
}

/** Joins messages of the user that follow each other, since the API takes results only from the message after their calls. */
function joinTurns(messages: readonly JsonObject[]): JsonObject[] {
  const joined: JsonObject[] = []
  /** The content of the last message, if it is a copy that may grow. */
  let own: unknown[] | undefined
  for (const message of messages) {
    const last = joined.at(-1)
    if (message.role !== 'user' || last?.role !== 'user') {
      joined.push(message)
      own = undefined
      continue
    }
    if (own === undefined) {
      own = [...partsOf(last)]
      joined[joined.length - 1] = { ...last, content: own }
    }
    for (const part of partsOf(message)) own.push(part)
  }
  return joined
}

function partsOf({ content }: JsonObject): readonly unknown[] {
  return Array.isArray(content) ? content : [{ type: 'text', text: content }]
}

function withIds(message: JsonObject, ids: CallIds): JsonObject {
  const { content } = message
  if (!Array.isArray(content)) return message
  const renamed = content.map((block: unknown) => {
    if (!isObject(block)) return block
    if (isCall(block)) return { ...block, id: ids.ofCall(textOf(block.id) ?? '') }
    if (!isResult(block)) return block
    return { ...block, tool_use_id: ids.ofResult(textOf(block.tool_use_id) ?? '') }
  })
  return { ...message, content: renamed }
}
