import { NewCharges } from './new-charges.js'
import { playCall, playRetry, type Setting } from './play-call.js'
import { playCrowd, playKill, playRevocation } from './play-limits.js'
import { BookedProvider } from './provider.js'
import type { Scenario } from './scenarios.js'
import type { Outcome } from './score.js'
import type { Target } from './target.js'

/** Plays all scenarios against a target, one after the other. */
export async function runTarget(
  target: Target,
  scenarios: readonly Scenario[],
  report: (outcome: Outcome) => void = () => undefined,
): Promise<readonly Outcome[]> {
  const provider = await BookedProvider.start(Number(process.env.EXACTNESS_PROVIDER_PORT ?? 0))
  try {
    const gateway = await target.start(provider)
    try {
      const charges = gateway.charges === undefined ? undefined : new NewCharges(gateway.charges)
      const setting: Setting = { gateway, policy: target.policy, provider, charges }
      const outcomes: Outcome[] = []
      for (const scenario of scenarios) {
        for (const outcome of await play(scenario, setting)) {
          outcomes.push(outcome)
          report(outcome)
        }
      }
      return outcomes
    } finally {
      await gateway.stop()
    }
  } finally {
    await provider.close()
  }
}

async function play(scenario: Scenario, setting: Setting): Promise<readonly Outcome[]> {
  switch (scenario.kind) {
    case 'call':
    case 'retry': {
      const outcomes: Outcome[] = []
      for (const mode of scenario.modes) {
        const outcome =
          scenario.kind === 'call'
            ? await playCall(scenario, mode, setting)
            : await playRetry(scenario, mode, setting)
        outcomes.push(outcome)
        if ('missing' in outcome) break
      }
      return outcomes
    }
    case 'crowd':
      return [await playCrowd(scenario, setting)]
    case 'revocation':
      return [await playRevocation(scenario, setting)]
    case 'kill':
      return [await playKill(scenario, setting)]
  }
}
