import { FULL, type Measured, proveMemory } from './proof.js'

const MEBIBYTE = 1_024 * 1_024
const mebibytes = (bytes: number): string => `${Math.round(bytes / MEBIBYTE)} MiB`
const limit = FULL.memoryBytes

console.log(`Twenty calls of each kind at once; memoryBytes: ${mebibytes(limit)}`)
const onMeasured = ({ aliveBytes, answered, name, refused, rssBytes }: Measured): void => {
  const verdict = aliveBytes > limit ? ' TOO MUCH' : ''
  console.log(
    `${name}: ${answered} answered, ${refused} refused, ${mebibytes(aliveBytes)} alive above idle, RSS ${mebibytes(rssBytes)}${verdict}`,
  )
}
const measured = await proveMemory(FULL, onMeasured, process.argv[2])
process.exitCode = measured.some(({ aliveBytes }) => aliveBytes > limit) ? 1 : 0
