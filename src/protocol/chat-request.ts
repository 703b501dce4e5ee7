/** A message as a client sent it. Unknown fields pass through. */
export interface ChatMessage {
  role: string
  content?: unknown
  [field: string]: unknown
}

/** A chat completion request as a provider gets it: without the router's own fields. */
export interface ChatRequest {
  model: string
  messages: ChatMessage[]
  stream?: boolean | null
  [field: string]: unknown
}

/** How a caller steers the choice of route. */
export interface RoutingPreferences {
  readonly order?: readonly string[]
  readonly only?: readonly string[]
  readonly ignore?: readonly string[]
  readonly allowFallbacks: boolean
  readonly sort?: 'price' | 'latency' | 'throughput'
  /** Decimal strings, in the units of prices. */
  readonly maxPrice?: { readonly input?: string; readonly output?: string; readonly request?: string }
  readonly requireParameters: boolean
}

/** The fields that are the router's own and never reach a provider. */
export interface OwnFields {
  readonly sessionId?: string
  readonly provider?: string
  readonly providerKey?: string
  readonly routing?: RoutingPreferences
  readonly appId?: string
  readonly action?: unknown
  readonly connected?: unknown
}

export interface ParsedChatRequest {
  readonly stream: boolean
  /** `n`, 1 where absent. */
  readonly n: number
  /** What goes upstream, `model` still being the model key. */
  readonly forward: ChatRequest
  readonly own: OwnFields
}
