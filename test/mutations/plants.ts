import type { ChatAdapter } from 'compat-router'

export interface Plant {
  readonly name: string
  readonly breaks: readonly string[]
  readonly adapter?: (adapter: ChatAdapter) => ChatAdapter
}
