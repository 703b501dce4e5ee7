import { isDeepStrictEqual } from 'node:util'
import { nameSchema, parseField } from '../../rules/schemas.js'
import { DONE } from './endpoint.js'
import { HttpError } from './http-error.js'

/** `was` is the row that the change is based on; absent for a new row. */
export interface Change {
  readonly was?: unknown
}

/** Stores a row, unless it would overwrite one that the client has not read, or that has changed since. */
export async function putUnchanged<Row extends object>(
  what: 'app' | 'model' | 'route',
  given: string,
  was: unknown,
  find: (id: string) => Promise<Row | undefined>,
  put: (was: Row | null) => Promise<boolean>,
): Promise<typeof DONE> {
  const id = parseField(nameSchema, given, 'id', what)
  for (;;) {
    const stored = await find(id)
    checkUnchanged(what, id, was, stored)
    // If the row changes between the read and the put, nothing is stored, and the next read reports the change.
    if (await put(stored ?? null)) return DONE
  }
}

function checkUnchanged(
  what: 'app' | 'model' | 'route',
  id: string,
  was: unknown,
  stored: object | undefined,
): void {
  const now: unknown = stored === undefined ? undefined : JSON.parse(JSON.stringify(stored))
  if (isDeepStrictEqual(now, was)) return
  if (was === undefined) {
    throw new HttpError(
      409,
      `The ${what} ${JSON.stringify(id)} already exists: nothing was saved. Choose another id, or change the existing ${what}.`,
      'id',
    )
  }
  const happened = stored === undefined ? 'removed' : 'changed'
  throw new HttpError(
    409,
    `The ${what} ${JSON.stringify(id)} has been ${happened} since you opened it: nothing was saved. Reload it and try again.`,
  )
}
