import { ProviderError, type ProviderErrorFields } from '../base/errors.js'
import { isObject, isText, type JsonObject, textOf } from '../protocol/json-values.js'
import { parseLoosely } from './provider-json.js'

type Complaint = Pick<ProviderErrorFields, 'providerMessage' | 'param' | 'providerCode' | 'status'>

const MAX_NESTING = 8
const MESSAGE_MEMBERS = [
  'message',
  'msg',
  'detail',
  'error_description',
  'error_message',
  'status_msg',
  'title',
]
const WRAPPERS = ['error', 'errors', 'detail', 'message', 'x_groq', 'base_resp']

/**
 * Finds the message, param and code in a provider's failure report, which has many shapes: `{error: {message, param,
 * code}}`, `{error: 'x'}`, `{message}`, `{detail: [{loc, msg}]}`, a list of these, or text. `status` is the `code` or
 * `status` if that is an HTTP error status.
 */
export function readComplaint(value: unknown, nesting = 0): Complaint {
  if (typeof value === 'string') return { providerMessage: value }
  if (Array.isArray(value)) return nesting < MAX_NESTING ? readComplaint(value[0], nesting + 1) : {}
  if (!isObject(value)) return {}
  const policyCode = policyCodeIn(value)
  const own: Complaint = {
    providerMessage: MESSAGE_MEMBERS.map((name) => value[name]).find(isText),
    param: isText(value.param) ? value.param : readLocation(value.loc),
    providerCode: [policyCode, isNumber(value.code) ? value.type : value.code, value.type, value.code].find(
      isText,
    ),
    status: [value.code, value.status, value.status_code].map(toErrorStatus).find(isPresent),
  }
  if (nesting >= MAX_NESTING) return own
  const passedOn = readPassedOn(value.metadata, nesting + 1)
  if (passedOn.providerMessage !== undefined) return { ...passedOn, status: own.status }
  for (const wrapper of WRAPPERS) {
    const inner = value[wrapper]
    if (inner === own.providerMessage || (typeof inner !== 'string' && typeof inner !== 'object')) continue
    const found = readComplaint(inner, nesting + 1)
    if (found.providerMessage === undefined && wrapper !== 'error') continue
    return {
      providerMessage: found.providerMessage ?? own.providerMessage,
      param: found.param ?? own.param,
      providerCode: textOf(policyCode) ?? found.providerCode ?? own.providerCode,
      status: found.status ?? own.status,
    }
  }
  return own
}

/**
 * Returns the code of a content refusal that is not in `code`: OpenRouter lists the reasons or the type in `metadata`,
 * and Zhipu names the filter beside the error.
 */
function policyCodeIn({ contentFilter, metadata }: JsonObject): unknown {
  if (Array.isArray(contentFilter)) return 'content_filter'
  if (!isObject(metadata)) return undefined
  return metadata.error_type ?? (Array.isArray(metadata.reasons) ? 'moderation' : undefined)
}

/** OpenRouter reports that a provider failed, and adds the provider's own error as `raw`. */
function readPassedOn(metadata: unknown, nesting: number): Complaint {
  const raw = isObject(metadata) ? metadata.raw : undefined
  const error = typeof raw === 'string' ? parseLoosely(raw) : raw
  return typeof error === 'string' ? {} : readComplaint(error, nesting)
}

/**
 * Matches messages that have a 400 but another meaning. Those of Anthropic, Google and xAI are about the account or the
 * key, not the request. Those of DeepSeek, Mistral, OpenRouter, SiliconFlow, Bedrock and Zhipu are about the model's
 * name, which the host chose.
 */
const MEANT = new Map([
  [/^(?:Your credit balance is too low|You have reached your specified API usage limits)/, 402],
  [/^(?:API key (?:not valid|expired)|Incorrect API key)/, 401],
  [/^This organization has been disabled/, 403],
  [
    /^(?:Model Not Exist|Invalid model: |Model does not exist\b|The provided model identifier is invalid)/,
    404,
  ],
  [/^(?:\S{1,256} is not a valid model ID\b|模型不存在)/, 404],
])

/** Returns the HTTP status that a provider means, from the status, the message and the code that it sent. */
export function meantStatus(
  status: number,
  { providerCode, providerMessage: message }: Pick<ProviderErrorFields, 'providerCode' | 'providerMessage'>,
): number {
  if (status !== 400) return status
  if (providerCode === 'model_not_found') return 404
  if (message === undefined) return status
  for (const [pattern, meant] of MEANT) if (pattern.test(message)) return meant
  return status
}

/** For the host. */
export const PAGE_HINT = ' It is a web page: perhaps the base URL is wrong.'

/** Returns the failure for an HTTP error status and the part of its body that was read. */
export function statusError(status: number, body: Buffer, retryAfter: string | undefined): ProviderError {
  const text = body.toString('utf8').trim()
  const { providerMessage, param, providerCode } = readErrorBody(text)
  const isPage = text.startsWith('<')
  return new ProviderError('status', `The provider answered ${status}.${isPage ? PAGE_HINT : ''}`, {
    status: meantStatus(status, { providerCode, providerMessage }),
    retryAfterSeconds: parseRetryAfter(retryAfter),
    providerMessage,
    param,
    providerCode,
  })
}

/** The statuses of the codes with which the Responses API and others say in a reply why it failed. */
const STATUSES: ReadonlyMap<string | undefined, number> = new Map([
  ...['rate_limit_exceeded', 'rate_limit_error', 'insufficient_quota'].map((code) => [code, 429] as const),
  ...['server_is_overloaded', 'overloaded_error', 'slow_down'].map((code) => [code, 503] as const),
  ...(
    'context_length_exceeded invalid_image invalid_image_format invalid_base64_image invalid_image_url ' +
    'invalid_image_mode image_too_large image_too_small image_parse_error image_file_too_large ' +
    'unsupported_image_media_type empty_image_file failed_to_download_image image_file_not_found'
  )
    .split(' ')
    .map((code) => [code, 400] as const),
])

/** Returns the failure for an error frame inside a reply. */
export function frameError(frame: unknown): ProviderError {
  const complaint = readComplaint(frame)
  const status = complaint.status ?? STATUSES.get(complaint.providerCode)
  return new ProviderError('error-frame', 'The reply contained an error.', { ...complaint, status })
}

/** Returns the seconds from now that a `retry-after` header gives, as a number or as a date. */
export function parseRetryAfter(value: string | undefined): number | undefined {
  if (value === undefined) return undefined
  if (/^\s*\d{1,9}(\.\d{1,9})?\s*$/.test(value)) return Number(value)
  const date = /[a-z]/i.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - Date.now()) / 1000))
}

function readErrorBody(text: string): Complaint {
  if (text === '' || text.startsWith('<')) return {}
  try {
    return readComplaint(JSON.parse(text))
  } catch {
    return { providerMessage: text }
  }
}

function readLocation(location: unknown): string | undefined {
  if (!Array.isArray(location)) return undefined
  const path = location.filter((step) => step !== 'body' && ['string', 'number'].includes(typeof step))
  return path.length === 0 ? undefined : path.join('.')
}

/** Some gateways write the status as text. */
function toErrorStatus(value: unknown): number | undefined {
  const status = isNumber(value) ? Number(value) : value
  return typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599
    ? status
    : undefined
}

/** Whether a code is a number written as text. */
function isNumber(code: unknown): boolean {
  return typeof code === 'string' && /^\d+$/.test(code)
}

function isPresent<Value>(value: Value | undefined): value is Value {
  return value !== undefined
}
