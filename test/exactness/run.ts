import { playCall, playRetry } from './play-call.js'
import { playCrowd, playKill, playRevocation } from './play-limits.js'
import { BookedProvider } from './provider.js'
import type { Scenario } from './scenarios.js'
import type { Outcome } from './score.js'
import type { Gateway, Target } from './target.js'

/** Plays all scenarios against a target, one after the other. */
export async function runTarget(
  target: Target,
  scenarios: readonly Scenario[],
  report: (outcome: Outcome) => void = () => undefined,
): Promise<readonly Outcome[]> {
  const provider = await BookedProvider.start()
  try {
    const gateway = await target.start(provider)
    try {
      const outcomes: Outcome[] = []
      for (const scenario of scenarios) {
        for (const outcome of await play(scenario, target, gateway, provider)) {
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

async function play(
  scenario: Scenario,
  { policy }: Target,
  gateway: Gateway,
  provider: BookedProvider,
): Promise<readonly Outcome[]> {
  switch (scenario.kind) {
    case 'call':
    case 'retry': {
      const outcomes: Outcome[] = []
      for (const mode of scenario.modes) {
        const outcome =
          scenario.kind === 'call'
            ? await playCall(scenario, mode, gateway, policy, provider)
            : await playRetry(scenario, mode, gateway, policy, provider)
        outcomes.push(outcome)
        if ('missing' in outcome) break
      }
      return outcomes
    }
    case 'crowd':
      return [await playCrowd(scenario, gateway, policy, provider)]
    case 'revocation':
      return [await playRevocation(scenario, gateway, policy, provider)]
    case 'kill':
      return [await playKill(scenario, gateway, policy, provider)]
  }
}
