export interface Deferred<Value> {
  readonly promise: Promise<Value>
  readonly resolve: (value: Value) => void
}

/** A promise that other code fulfils. Node 20 has no `Promise.withResolvers`. */
export function createDeferred<Value = void>(): Deferred<Value> {
  let resolve: (value: Value) => void = () => undefined
  const promise = new Promise<Value>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}
