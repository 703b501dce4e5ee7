import { randomBytes } from 'node:crypto'

const ID_BYTES = 16
const POOL_IDS = 128

/** Makes random ids of 128 bits as 32 hex digits, drawn from a pool so that an id costs no system call. */
export function createIdSource(): () => string {
  let pool = ''
  let next = 0
  return () => {
    if (next >= pool.length) {
      pool = randomBytes(ID_BYTES * POOL_IDS).toString('hex')
      next = 0
    }
    const id = pool.slice(next, next + ID_BYTES * 2)
    next += ID_BYTES * 2
    return id
  }
}
