/**
 * Returns the promise's result. Rejects with `ETIMEDOUT` if it takes longer. A late result goes to `onLate`; a late
 * rejection is ignored.
 */
export async function within<Result>(
  ms: number,
  promise: Promise<Result>,
  failed: string,
  onLate?: (result: Result) => void,
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      promise.then(onLate, () => undefined)
      reject(Object.assign(new Error(`${failed} within ${ms} ms`), { code: 'ETIMEDOUT' }))
    }, ms)
  })
  try {
    return await Promise.race([promise, timeout])
  } finally {
    clearTimeout(timer)
  }
}
