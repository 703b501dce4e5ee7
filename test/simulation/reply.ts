import type { SimClient } from './client.js'

/** The content of a client's reply. */
export interface ReadReply {
  readonly kind: /** A whole JSON completion, or a stream up to `[DONE]`. */
    | 'complete'
    /** An HTTP error. */
    | 'refused'
    /** A stream that ended in an error frame. */
    | 'failed'
    /** Cut off because the client left, or the router ended. */
    | 'partial'
    | 'none'
  readonly status?: number
  readonly code?: string
  /** As billionths of a credit, from the text of the number. */
  readonly cost?: bigint
  readonly base?: bigint
  readonly markup?: bigint
  readonly usage?: WireUsage
  readonly finishReasons: ReadonlyMap<number, string>
  readonly texts: ReadonlyMap<number, string>
}

interface WireUsage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly total_tokens: number
  readonly is_byok: boolean
  readonly charge: { readonly basis: string }
}

interface Choice {
  readonly index: number
  readonly delta?: { readonly content?: string | null }
  readonly message?: { readonly content?: string | null }
  readonly finish_reason?: string | null
}

const FORBIDDEN = /secret-upstream|cost_details|"cost":99[,}]|the-callers-own-key/

/** Reads a reply as strictly as documented. Reports each deviation to `broken`. */
export function readReply(client: SimClient, broken: (what: string) => void): ReadReply {
  const sent = client.body ?? client.text
  if (FORBIDDEN.test(sent)) broken('the reply shows something of the provider or the key')
  const base = { finishReasons: new Map<number, string>(), texts: new Map<number, string>() }
  if (client.status === undefined) return { kind: 'none', ...base }
  if (client.body !== undefined) return readBody(client.status, client.body)
  return readStream(client, broken)
}

function readBody(status: number, body: string): ReadReply {
  const value = JSON.parse(body)
  const { finishReasons, texts } = addChoices(value.choices ?? [])
  if (status === 200)
    return { kind: 'complete', status, ...costOf(body), usage: value.usage, finishReasons, texts }
  const { code, metadata } = value.error
  return {
    kind: 'refused',
    status,
    code,
    ...(metadata?.usage !== undefined && { ...costOf(body), usage: metadata.usage }),
    finishReasons,
    texts,
  }
}

function readStream(client: SimClient, broken: (what: string) => void): ReadReply {
  const text = Buffer.from(client.text, 'latin1').toString('utf8')
  const frames = text.split('\n\n')
  if (frames.pop() !== '') broken('the last event is not ended')
  const data = frames.filter((frame) => !frame.startsWith(':'))
  const choices: Choice[] = []
  let costFrame: string | undefined
  let errorFrame: string | undefined
  let isDone = false
  for (const frame of data) {
    if (!frame.startsWith('data: ')) broken(`not an event: ${frame}`)
    if (isDone || errorFrame !== undefined) broken('an event after the last one')
    const json = frame.slice('data: '.length)
    if (json === '[DONE]') {
      isDone = true
      continue
    }
    const value = JSON.parse(json)
    if (value.error !== undefined) {
      errorFrame = json
      continue
    }
    if (costFrame !== undefined) broken('a chunk after the usage')
    if (value.usage !== undefined) {
      costFrame = json
      if (value.choices.length !== 0) broken('usage beside choices')
    }
    choices.push(...value.choices)
  }
  const { finishReasons, texts } = addChoices(choices, broken)
  if (errorFrame !== undefined) {
    if (costFrame !== undefined) broken('usage before an error')
    const { code, metadata } = JSON.parse(errorFrame).error
    return {
      kind: 'failed',
      status: 200,
      code,
      ...costOf(errorFrame),
      usage: metadata.usage,
      finishReasons,
      texts,
    }
  }
  if (!isDone) {
    if (client.over) broken('a stream that ended without [DONE] and without an error')
    return { kind: 'partial', status: 200, finishReasons, texts }
  }
  if (costFrame === undefined) {
    broken('[DONE] without usage')
    return { kind: 'complete', status: 200, finishReasons, texts }
  }
  for (const index of texts.keys())
    if (!finishReasons.has(index)) broken(`choice ${index} has no finish_reason`)
  return {
    kind: 'complete',
    status: 200,
    ...costOf(costFrame),
    usage: JSON.parse(costFrame).usage,
    finishReasons,
    texts,
  }
}

function addChoices(choices: readonly Choice[], broken?: (what: string) => void) {
  const finishReasons = new Map<number, string>()
  const texts = new Map<number, string>()
  for (const { index, delta, message, finish_reason: reason } of choices) {
    texts.set(index, (texts.get(index) ?? '') + ((delta ?? message)?.content ?? ''))
    if (typeof reason !== 'string') continue
    if (finishReasons.has(index)) broken?.(`choice ${index} has two finish reasons`)
    finishReasons.set(index, reason)
  }
  return { finishReasons, texts }
}

/** The amounts as written, since a double could hide a digit. */
function costOf(json: string): { cost: bigint; base: bigint; markup: bigint } {
  const found = (name: string): bigint =>
    decimal(new RegExp(`"${name}":([-+.0-9eE]+)`).exec(json)?.[1] ?? 'none')
  return { cost: found('cost'), base: found('base_cost'), markup: found('markup_cost') }
}

/** A JSON number in billionths, or -1 if it is not a number or has more than nine places. */
export function decimal(text: string): bigint {
  const match = /^(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(text)
  if (match === null) return -1n
  const [, whole, places = '', power = '0'] = match
  const shift = 9 + Number(power) - places.length
  const digits = BigInt(whole! + places)
  if (shift >= 0) return digits * 10n ** BigInt(shift)
  const divisor = 10n ** BigInt(-shift)
  return digits % divisor === 0n ? digits / divisor : -1n
}
