import { randomBytes } from 'node:crypto'

const RANDOM_BYTES = 10
const TIME_DIGITS = 12
const POOL_IDS = 1_024

/**
 * Returns a function that creates ids of 32 hex digits: 48 bits of time in milliseconds, then 80 random bits. They come
 * from a pool, so that an id needs no system call. Because the time comes first, ids created together are neighbours in
 * a database's index. Random ids would each read and write a page of their own.
 */
export function createIdSource(): () => string {
  let pool = ''
  let next = 0
  let lastMs = -1
  let time = ''
  return () => {
    if (next >= pool.length) {
      pool = randomBytes(RANDOM_BYTES * POOL_IDS).toString('hex')
      next = 0
    }
    const nowMs = Date.now()
    if (nowMs !== lastMs) {
      lastMs = nowMs
      time = nowMs.toString(16).padStart(TIME_DIGITS, '0')
    }
    const id = time + pool.slice(next, next + RANDOM_BYTES * 2)
    next += RANDOM_BYTES * 2
    return id
  }
}

/**
 * Works like {@link createIdSource}, but each id is greater than the previous one, even within a millisecond. Used for
 * rows of a history, which are read in the order of their ids.
 */
export function createOrderedIdSource(): () => string {
  const newId = createIdSource()
  let lastMs = 0
  return () => {
    lastMs = Math.max(Date.now(), lastMs + 1)
    return lastMs.toString(16).padStart(TIME_DIGITS, '0') + newId().slice(TIME_DIGITS)
  }
}
