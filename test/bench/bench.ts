/** `npm run bench`: the router compared with the limit and a peer, in interleaved rounds. See README.md. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { choose, readNames, readNumber, runMain, say } from './lib/arguments.js'
import {
  compareGrouping,
  GROUPING_TITLE,
  LEDGER_TITLE,
  type LedgerSamples,
  ledgerTable,
  measureLedgers,
} from './lib/ledger-scenario.js'
import { describeMachine, machineLine } from './lib/machine.js'
import { measureLoad, measureMemory, warmUp } from './lib/measure.js'
import { isPeerName } from './lib/peers.js'
import { type Program, programCommand, startProgram } from './lib/program.js'
import { format, type ScenarioReport, scenarioTable, verdictTable } from './lib/report.js'
import { type Sample, SCENARIOS, type Scenario } from './lib/scenarios.js'
import { findSystems, SYSTEM_NAMES, type System, type Target } from './lib/systems.js'
import { judge } from './lib/targets.js'

/** Without systems, because these scenarios load only a ledger. */
const LEDGER_SCENARIOS = [{ name: 'ledger' }, { name: 'ledger-grouping' }] as const

const HELP = `npm run bench -- [options]

  --scenario NAMES   ${[...SCENARIOS, ...LEDGER_SCENARIOS].map(({ name }) => name).join(', ')} (all)
  --systems NAMES    ${SYSTEM_NAMES.join(', ')} (those of the scenario)
                     http-plain and http-no-memory-reducer are the router run otherwise
                     (see test/bench/README.md), http@DIR the one built to DIR
  --rounds N         5
  --seconds N        3, for each system and round
  --json FILE        test/bench/results/bench.json
  --dist DIR         dist: the folder of the built package
  --profile DIR      write a CPU profile of each system to DIR; the figures are then worth nothing
`

const WARM_UP_MS = 2_000
const WAKE_MS = 200

interface Settings {
  readonly scenarios: readonly (Scenario | (typeof LEDGER_SCENARIOS)[number])[]
  readonly systems: readonly string[] | undefined
  readonly rounds: number
  readonly measureMs: number
  readonly jsonFile: string
  readonly dist: string
  readonly profile: string | undefined
}

function readSettings(): Settings | undefined {
  const { values } = parseArgs({
    options: {
      scenario: { type: 'string' },
      systems: { type: 'string' },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '3' },
      json: { type: 'string', default: 'test/bench/results/bench.json' },
      dist: { type: 'string', default: 'dist' },
      profile: { type: 'string' },
      help: { type: 'boolean' },
    },
  })
  if (values.help) return undefined
  return {
    scenarios: choose<Settings['scenarios'][number]>(
      'scenario',
      [...SCENARIOS, ...LEDGER_SCENARIOS],
      values.scenario,
    ),
    systems: values.systems === undefined ? undefined : readNames(values.systems),
    rounds: readNumber('rounds', values.rounds, 1),
    measureMs: readNumber('seconds', values.seconds, 0.1) * 1_000,
    jsonFile: resolve(values.json),
    dist: resolve(values.dist),
    profile: values.profile === undefined ? undefined : resolve(values.profile),
  }
}

interface Feeders {
  readonly upstream: Program
  readonly load: Program
}

async function runScenario(
  scenario: Scenario,
  settings: Settings,
  feeders: Feeders,
): Promise<ScenarioReport> {
  const systems = await findSystems(settings.systems ?? scenario.systems, settings)
  const samples: Record<string, Sample[]> = Object.fromEntries(systems.map(({ name }) => [name, []]))
  const measure = scenario.kind === 'load' ? interleaveLoad : interleaveMemory
  await measure(scenario, systems, settings, feeders, (round, system, sample) => {
    samples[system]!.push(sample)
    const { metric, title, digits } = scenario.columns[scenario.kind === 'load' ? 0 : 2]!
    const errors = sample.errors === 0 ? '' : `, ${sample.errors} errors: ${sample.firstError}`
    say(`  round ${round + 1}: ${system}: ${format(sample[metric], digits)} ${title}${errors}`)
  })
  return { scenario: scenario.name, title: scenario.title, samples }
}

interface Running {
  readonly name: string
  readonly target: Target
}

type Keep = (round: number, system: string, sample: Sample) => void

/** All systems run at once and get load in turn. Each round begins with another. */
async function interleaveLoad(
  scenario: Scenario,
  systems: readonly System[],
  settings: Settings,
  { upstream, load }: Feeders,
  keep: Keep,
): Promise<void> {
  const running: Running[] = []
  try {
    for (const system of systems) {
      const nodeArguments = profileArguments(settings.profile, scenario, system)
      running.push({ name: system.name, target: await system.start(upstream, { nodeArguments }) })
    }
    for (const { name, target } of running) {
      await withoutPeers(running, name, () => warmUp(scenario, target, load, WARM_UP_MS))
    }
    for (let round = 0; round < settings.rounds; round++) {
      const first = round % running.length
      for (const { name, target } of [...running.slice(first), ...running.slice(0, first)]) {
        const measure = () => measureLoad(scenario, target, load, settings.measureMs)
        keep(round, name, await withoutPeers(running, name, measure))
      }
    }
  } finally {
    for (const { target } of running) await target.stop()
  }
}

/**
 * Runs a step of one system while all other peers are stopped. Some peers work on for long after their replies, which
 * would take processor time from the others.
 */
async function withoutPeers<Result>(
  running: readonly Running[],
  name: string,
  run: () => Promise<Result>,
): Promise<Result> {
  const peers = running.filter((one) => isPeerName(one.name))
  if (peers.length === 0) return run()
  const others = peers.filter((peer) => peer.name !== name)
  const signalAll = (signal: NodeJS.Signals) => {
    for (const { target } of others) process.kill(target.program.processId, signal)
  }
  signalAll('SIGSTOP')
  try {
    // A system that was stopped itself first closes the connections that timed out meanwhile.
    await delay(WAKE_MS)
    return await run()
  } finally {
    signalAll('SIGCONT')
  }
}

/** A fresh process for each sample. */
async function interleaveMemory(
  scenario: Scenario,
  systems: readonly System[],
  settings: Settings,
  { upstream, load }: Feeders,
  keep: Keep,
): Promise<void> {
  for (let round = 0; round < settings.rounds; round++) {
    for (const system of systems) {
      const target = await system.start(upstream)
      try {
        keep(round, system.name, await measureMemory(scenario, target, load, settings.measureMs))
      } finally {
        await target.stop()
      }
    }
  }
}

function profileArguments(directory: string | undefined, scenario: Scenario, system: System): string[] {
  if (directory === undefined) return []
  const file = `${scenario.name}-${system.name.replaceAll('/', '_')}.cpuprofile`
  return ['--cpu-prof', `--cpu-prof-dir=${directory}`, `--cpu-prof-name=${file}`]
}

async function main(): Promise<void> {
  const settings = readSettings()
  if (settings === undefined) {
    process.stdout.write(HELP)
    return
  }
  const machine = describeMachine()
  const print = (text: string): void => {
    process.stdout.write(`${text}\n\n`)
  }
  print(`${machineLine(machine)} ${settings.rounds} rounds of ${settings.measureMs / 1_000} s.`)
  const upstream = await startProgram({ command: programCommand('upstream', {}), core: 'load' })
  const load = await startProgram({ command: programCommand('load', {}), core: 'load' })
  const reports: ScenarioReport[] = []
  let ledger: LedgerSamples | undefined
  let ledgerGrouping: string | undefined
  for (const scenario of settings.scenarios) {
    say(scenario.name)
    if (scenario.name === 'ledger') {
      ledger = await measureLedgers(settings.dist, settings.rounds, settings.measureMs)
      print(`### ${LEDGER_TITLE}\n\n${ledgerTable(ledger)}`)
      continue
    }
    if (!('kind' in scenario)) {
      ledgerGrouping = await compareGrouping(settings.rounds, settings.measureMs)
      print(`### ${GROUPING_TITLE}\n\n\`\`\`text\n${ledgerGrouping}\n\`\`\``)
      continue
    }
    const report = await runScenario(scenario, settings, { upstream, load })
    reports.push(report)
    print(`### ${scenario.title}\n\n${scenarioTable(scenario, report)}`)
  }
  const verdicts = judge(reports)
  if (verdicts.length > 0) print(`### Goals\n\n${verdictTable(verdicts)}`)
  await Promise.all([upstream.stop(), load.stop()])
  const { rounds, measureMs } = settings
  mkdirSync(dirname(settings.jsonFile), { recursive: true })
  const all = { machine, rounds, measureMs, scenarios: reports, ledger, ledgerGrouping, verdicts }
  writeFileSync(settings.jsonFile, `${JSON.stringify(all, undefined, 2)}\n`)
  say(`samples: ${settings.jsonFile}`)
}

runMain(main)
