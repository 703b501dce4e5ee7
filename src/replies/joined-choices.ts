import {
  isDroppedOutput,
  isFailureReason,
  mapFinishReason,
  ownFinishReason,
  readFinishReason,
} from '../protocol/finish-reason.js'
import { isInteger, isObject, isText, type JsonObject, saysNothing } from '../protocol/json-values.js'
import type { Losses } from './losses.js'

/**
 * Returns the choices of a body, as many as were requested. If one was requested, several are its parts: some providers
 * send the text and each tool call as separate choices. Ambiguous indexes are replaced by positions.
 */
export function orderChoices(choices: readonly unknown[], n: number, losses: Losses): readonly unknown[] {
  const objects = choices.filter(isObject)
  if (n === 1 && objects.length > 1) {
    losses.mend('choices-joined')
    return [joinChoices(objects, losses), ...choices.filter((choice) => !isObject(choice))]
  }
  if (objects.length < choices.length || choices.length > n) return choices
  if (haveOwnIndexes(objects, n)) return choices
  return objects.map((choice, position) => renumbered(choice, position, losses))
}

function haveOwnIndexes(choices: readonly JsonObject[], n: number): boolean {
  if (choices.length === 1) return isIndex(choices[0]!.index, n)
  const indexes = new Set<number>()
  for (const { index } of choices) if (isIndex(index, n)) indexes.add(index)
  return indexes.size === choices.length
}

/** Whether a value is the index of one of `n` choices. */
export function isIndex(value: unknown, n: number): value is number {
  return isInteger(value) && value >= 0 && value < n
}

function renumbered(choice: JsonObject, index: number, losses: Losses): JsonObject {
  if (choice.index === index || choice.index === undefined || choice.index === null) return choice
  losses.mend('choice-renumbered')
  return { ...choice, index }
}

function joinChoices(choices: readonly JsonObject[], losses: Losses): JsonObject {
  const message: JsonObject = {}
  /** The lists of `message` that are already copies and may grow. */
  const grown = new Set<unknown>()
  const seen = new Set<string>()
  for (const choice of choices) {
    const said = choice.message ?? choice.delta
    const text = JSON.stringify(said)
    if (seen.has(text)) continue
    seen.add(text)
    if (!isObject(said) && !saysNothing(said)) losses.add('the message of a choice is not an object', said)
    for (const [name, value] of isObject(said) ? Object.entries(said) : []) {
      if (value !== null && value !== undefined) message[name] = joined(name, message[name], value, grown)
    }
  }
  const joinedChoice: JsonObject = {}
  for (const choice of choices.toReversed()) Object.assign(joinedChoice, choice)
  Object.assign(joinedChoice, { index: 0, message })
  delete joinedChoice.delta
  Object.assign(joinedChoice, endOf(choices))
  return joinedChoice
}

const GROWING = new Set(['content', 'reasoning', 'reasoning_content', 'refusal'])

function joined(name: string, known: unknown, more: unknown, grown: Set<unknown>): unknown {
  if (known === undefined) return more
  if (Array.isArray(known) && Array.isArray(more)) return extended(known, more, grown)
  if (!GROWING.has(name)) return known
  if (isText(known) && isText(more)) return known === more ? known : known + more
  if (!isText(known) && !Array.isArray(known)) return more
  const partsOf = (value: unknown) => (Array.isArray(value) ? value : [value])
  return more === '' ? known : extended(partsOf(known), partsOf(more), grown)
}

/** Adds items to a list. Copies the list only the first time: a copy each time would take quadratic time. */
function extended(list: unknown[], more: readonly unknown[], grown: Set<unknown>): unknown[] {
  const own = grown.has(list) ? list : [...list]
  grown.add(own)
  for (const item of more) own.push(item)
  return own
}

/** Returns the most significant finish: a failure, then anything other than a plain stop. */
function endOf(choices: readonly JsonObject[]): JsonObject {
  const reasons = choices.map(ownFinishReason)
  const isTelling = (reason: unknown): boolean => {
    const word = readFinishReason(reason)
    return word !== undefined && mapFinishReason(word) !== 'stop'
  }
  for (const test of [isFailureReason, isDroppedOutput, isTelling]) {
    const place = reasons.findIndex((reason) => test(reason))
    if (place < 0) continue
    const { finish_reason, native_finish_reason } = choices[place]!
    return { finish_reason, native_finish_reason }
  }
  const found = reasons.find((reason) => readFinishReason(reason) !== undefined)
  return { finish_reason: found, native_finish_reason: undefined }
}
