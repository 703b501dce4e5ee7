import { FULL, proveMemory } from './proof.js'

const MEBIBYTE = 1_024 * 1_024
const mebibytes = (bytes: number): string => `${Math.round(bytes / MEBIBYTE)} MiB`
const limit = FULL.memoryBytes

console.log(`Twenty calls of each kind at once; memoryBytes: ${mebibytes(limit)}`)
const measured = await proveMemory(FULL, ({ aliveBytes, answered, name, refused, rssBytes }) => {
  const verdict = aliveBytes > limit ? ' TOO MUCH' : ''
  console.log(
    `${name}: ${answered} answered, ${refused} refused, ${mebibytes(aliveBytes)} alive above idle, RSS ${mebibytes(rssBytes)}${verdict}`,
  )
})
process.exitCode = measured.some(({ aliveBytes }) => aliveBytes > limit) ? 1 : 0
