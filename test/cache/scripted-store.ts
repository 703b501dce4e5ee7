import type {
  CallContext,
  CatalogueStore,
  CredentialResult,
  CredentialStore,
  Model,
} from '../../src/contracts/index.js'

export interface Asked {
  readonly key: string
  readonly context: CallContext
}

/** A look-up that waits for its answer. */
interface Pending<Value> extends Asked {
  answer(value: Value): void
  fail(error: Error): void
}

/** A store whose answers and changes come from the test. */
export interface ScriptedStore<Value> {
  readonly asked: readonly Asked[]
  /** Returns the oldest look-up without an answer. */
  next(): Pending<Value>
  readonly pending: number
  ask(key: string, context: CallContext): Promise<Value>
  changed(id?: string): void
  connection(connected: boolean): void
  readonly watchers: number
  watch(changed: (id?: string) => void, connection?: (connected: boolean) => void): () => void
}

export function createScriptedStore<Value>(): ScriptedStore<Value> {
  const asked: Asked[] = []
  const pending: Pending<Value>[] = []
  const watchers = new Set<readonly [(id?: string) => void, ((connected: boolean) => void) | undefined]>()
  return {
    asked,
    get pending() {
      return pending.length
    },
    get watchers() {
      return watchers.size
    },
    next() {
      const first = pending.shift()
      if (first === undefined) throw new Error('there is no pending look-up')
      return first
    },
    ask(key, context) {
      asked.push({ key, context })
      return new Promise((answer, fail) => {
        pending.push({ key, context, answer, fail })
      })
    },
    changed(id) {
      for (const [changed] of watchers) changed(id)
    },
    connection(connected) {
      for (const [, connection] of watchers) connection?.(connected)
    },
    watch(changed, connection) {
      const watcher = [changed, connection] as const
      watchers.add(watcher)
      return () => {
        watchers.delete(watcher)
      }
    },
  }
}

export function credentialStoreOf(script: ScriptedStore<CredentialResult>): CredentialStore {
  return { resolve: (token, context) => script.ask(token, context), watch: script.watch }
}

export function catalogueOf(
  models: ScriptedStore<Model | undefined>,
  list: ScriptedStore<readonly Model[]>,
): CatalogueStore {
  return {
    get: (id, context) => models.ask(id, context),
    list: (context) => list.ask('list', context),
    watch: models.watch,
  }
}

export function contextOf(signal: AbortSignal = new AbortController().signal): CallContext {
  return { requestId: 'request-1', signal }
}
