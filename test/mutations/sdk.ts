import type { Json, JsonObject } from '../recordings/recording.js'
import type { CountReport } from './counts.js'
import { valid } from './counts.js'
import { saysFailure } from './finish-words.js'
import type { Hearing } from './hearing.js'
import { completed } from './openai.js'
import { isObject, saysNothing, scalar } from './shapes.js'

type Version = 'aisdk-v2' | 'aisdk-v3'

/** Reads the parts of a stream of a model of the AI SDK, by its specification. */
export function hearStream(hearing: Hearing, parts: readonly Json[], version: Version): void {
  const calls = new Map<string, { index: number; hasArguments: boolean }>()
  const lose = (): void => hearing.lose('')
  const text = (value: unknown, say: (text: string) => void): void => {
    const read = scalar(value)
    if (read !== undefined && read !== '') say(read)
    else if (read === undefined && !saysNothing(value)) lose()
  }
  const more = (call: { index: number; hasArguments: boolean } | undefined, args: string): void => {
    if (call === undefined || args === '') return
    call.hasArguments = true
    hearing.say({ calls: [{ index: call.index, function: { arguments: args } }] })
  }
  const start = (id: string, name: unknown, args: string): void => {
    if (!isText(name)) {
      calls.set(id, { index: calls.size, hasArguments: args !== '' })
      lose()
      return
    }
    const index = calls.size
    calls.set(id, { index, hasArguments: args !== '' })
    hearing.say({ calls: [{ index, id, type: 'function', function: { name, arguments: args } }] })
  }

  const hear = (part: JsonObject): void => {
    switch (part.type) {
      case 'text-delta':
        text(part.delta, (said) => hearing.say({ text: said }))
        return
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'reasoning-end':
        text(part.delta, (reasoning) => hearing.say({ reasoning }))
        return
      case 'tool-input-start':
        if (isText(part.id)) start(part.id, part.toolName, '')
        else lose()
        return
      case 'tool-input-delta': {
        const call = isText(part.id) ? calls.get(part.id) : undefined
        if (isText(part.id)) text(part.delta, (args) => more(call, args))
        else lose()
        return
      }
      case 'tool-call': {
        const id = part.toolCallId
        if (!isText(id)) {
          lose()
          return
        }
        const call = calls.get(id)
        const args = argumentsOf(part.input)
        if (call === undefined) start(id, part.toolName, args)
        else if (!call.hasArguments) more(call, args)
        return
      }
      case 'finish': {
        const end = endOf(part.finishReason, readUsage(part.usage, version), version)
        if (end !== undefined) {
          for (const call of calls.values()) if (!call.hasArguments) more(call, '{}')
          if (saysFailure(end)) {
            hearing.count(readUsage(part.usage, version), true)
            hearing.fail('error')
          } else hearing.end(end)
        }
        hearing.count(readUsage(part.usage, version))
        if (end !== undefined) hearing.done()
        return
      }
      case 'error':
        hearing.fail('error')
    }
  }
  for (const part of parts) {
    if (hearing.isOver) return
    if (!isObject(part)) hearing.fail('invalid')
    else hear(part)
  }
}

/** Reads the result of a model that is not streamed. */
export function hearResult(hearing: Hearing, result: unknown, version: Version): void {
  if (!isObject(result) || !Array.isArray(result.content)) {
    hearing.fail('invalid')
    return
  }
  const parts = result.content.filter(isObject)
  const ofType = (type: string): JsonObject[] => parts.filter((part) => part.type === type)
  const calls: JsonObject[] = []
  for (const part of ofType('tool-call')) {
    if (!isText(part.toolCallId) || !isText(part.toolName)) hearing.loseCall()
    else {
      calls.push({
        id: part.toolCallId,
        function: { name: part.toolName, arguments: argumentsOf(part.input) },
      })
    }
  }
  const usage = readUsage(result.usage, version)
  const end = endOf(result.finishReason, undefined, version)
  if (end !== undefined && saysFailure(end)) {
    hearing.fail('error')
    return
  }
  hearing.say({
    text: ofType('text')
      .map((part) => scalar(part.text) ?? '')
      .join(''),
    reasoning: ofType('reasoning')
      .map((part) => scalar(part.text) ?? '')
      .join('\n\n'),
    ...(calls.length > 0 && { calls }),
  })
  if (end !== undefined) hearing.end(end)
  hearing.count(usage)
  hearing.done()
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function argumentsOf(input: unknown): string {
  if (typeof input === 'string') return input.trim() === '' ? '{}' : input
  return input === undefined || input === null ? '{}' : JSON.stringify(input)
}

/** Returns the end as a choice of OpenAI's format, undefined if the provider gave none. */
function endOf(reason: unknown, usage: CountReport | undefined, version: Version): JsonObject | undefined {
  const unified = isObject(reason) ? reason.unified : reason
  const raw = isObject(reason) && isText(reason.raw) ? reason.raw : undefined
  if (!isText(unified)) return undefined
  if (unified === 'unknown') {
    // Version 2 has one word for no reason and for one that it does not know.
    const hasOutput = version === 'aisdk-v2' && (valid(usage?.completion, 1e9) ?? 0) > 0
    return hasOutput ? { finish_reason: 'stop' } : undefined
  }
  if (unified === 'other' && isObject(reason) && raw === undefined) return undefined
  return {
    finish_reason: unified.replace('-', '_'),
    ...(raw !== undefined && { native_finish_reason: raw }),
  }
}

function readUsage(usage: unknown, version: Version): CountReport | undefined {
  if (!isObject(usage)) return undefined
  if (version === 'aisdk-v2') {
    const { cachedInputTokens, inputTokens, outputTokens, reasoningTokens, totalTokens } = usage
    return completed(
      {
        prompt: inputTokens,
        listed: outputTokens,
        total: totalTokens,
        cached: valid(cachedInputTokens, 1e9),
        reasoning: reasoningTokens,
      },
      false,
    )
  }
  const input = isObject(usage.inputTokens) ? usage.inputTokens : {}
  const output = isObject(usage.outputTokens) ? usage.outputTokens : {}
  const report = {
    prompt: input.total ?? sum(input.noCache, input.cacheRead, input.cacheWrite),
    cached: input.cacheRead,
    cacheWrite: input.cacheWrite,
    completion: output.total ?? sum(output.text, output.reasoning),
    reasoning: output.reasoning,
  }
  // Packages report zeros if the provider reported nothing, and then have no report of its own.
  return report.prompt === 0 && report.completion === 0 && usage.raw === undefined ? undefined : report
}

function sum(first: unknown, ...others: readonly unknown[]): number | undefined {
  const start = valid(first, 1e9)
  if (start === undefined) return undefined
  return others.reduce((total: number, count) => total + (valid(count, 1e9) ?? 0), start)
}
