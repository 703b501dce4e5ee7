import { honestBodies } from './honest-bodies.js'
import { planWorld, runWorld } from './run.js'
import { Servers } from './servers.js'

const servers = new Servers()
await servers.start()
const honest = await honestBodies()
const t = performance.now()
let calls = 0,
  charged = 0
const kinds = new Map<string, { count: number; first: string }>()
const n = Number(process.argv[2] ?? 10)
let next = 0
const work = async () => { for (let i = next++; i < n; i = next++) {
  const r = await runWorld(planWorld(String(Number(process.argv[3] ?? 1) + i), honest), servers)
  calls += r.calls
  charged += r.charged
  for (const v of r.violations) {
    const key = `${v.kind} ${/paid|short|held|charg/.test(v.kind) ? (() => { const pl = r.plans.find((q) => q.name === v.call); if (!pl) return v.message.slice(0, 40); return [pl.leaving, pl.stream, pl.reply.kind, pl.reply.silentMs > 0, pl.done.map((d) => d.slice(0, 30)).join(), r.scenario.neverOverdraw, pl.model].join(' ') })() : v.message.replace(/[\d.]+/g, '#').slice(0, 100)}`
    const k = kinds.get(key) ?? { count: 0, first: `${r.seed} ${v.call}: ${v.message}` }
    k.count++
    kinds.set(key, k)
  }
  if (process.argv[4]) console.log(r.notes.join('\n'))
} }
await Promise.all([work(), work(), work(), work()])
console.log(calls, charged, ((calls * 1000) / (performance.now() - t)).toFixed(0), '/s')
for (const [k, v] of [...kinds].sort((a, b) => b[1].count - a[1].count))
  console.log(v.count, k, '\n      ', v.first.slice(0, 300))
await servers.close()
process.exit(0)
