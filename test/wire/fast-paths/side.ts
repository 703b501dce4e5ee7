import { fork } from 'node:child_process'
import { once } from 'node:events'
import { programFile } from '../../helpers/program.js'
import { playLane, type Reply } from './client.js'
import { replyName, type Scenario } from './scenario.js'
import type { Accounts, Answer, Order } from './side-process.js'
import { type Asked, startUpstream } from './upstream.js'

/** The outcome of a scenario. */
export interface Played {
  /** By the id of the call. */
  readonly replies: ReadonlyMap<string, Reply>
  /** The requests that asked for each reply of the provider. */
  readonly asked: ReadonlyMap<string, readonly Asked[]>
  readonly accounts: Accounts
}

/** A process that was started with the fast paths open, or closed. */
export interface Side {
  play(scenario: Scenario): Promise<Played>
  close(): Promise<void>
}

const PROGRAM = new URL('side-process.ts', import.meta.url)

export async function startSide(fastPaths: 'on' | 'off'): Promise<Side> {
  const child = fork(await programFile(PROGRAM), [fastPaths], {
    serialization: 'advanced',
  })
  const exited = once(child, 'exit')
  const crashed = exited.then((): never => {
    throw new Error(`The process with the fast paths ${fastPaths} has ended.`)
  })
  crashed.catch(() => undefined)

  let answered: (answer: Exclude<Answer, 'turn taken'>) => void = () => undefined
  let turnTaken: () => void = () => undefined
  child.on('message', (answer: Answer) => {
    if (answer === 'turn taken') turnTaken()
    else answered(answer)
  })

  function ask(order: Exclude<Order, 'take a turn'>): Promise<Exclude<Answer, 'turn taken'>> {
    const answer = new Promise<Exclude<Answer, 'turn taken'>>((resolve) => {
      answered = resolve
    })
    child.send(order)
    return Promise.race([answer, crashed])
  }

  let turn: Promise<void> | undefined
  const takeTurn = (): Promise<void> => {
    turn ??= new Promise((resolve) => {
      turnTaken = () => {
        turn = undefined
        resolve()
      }
      child.send('take a turn' satisfies Order)
    })
    return turn
  }

  return {
    async play({ lanes, replies }) {
      const upstream = await startUpstream(replies, replyName, takeTurn)
      try {
        const { port } = (await ask({ upstreamPort: upstream.port })) as { port: number }
        const playing = lanes.map((lane) => playLane(port, lane, takeTurn))
        const played = await Promise.race([Promise.all(playing), crashed])
        const { accounts } = (await ask('finish')) as { accounts: Accounts }
        return { replies: new Map(played.flatMap((lane) => [...lane])), asked: upstream.asked, accounts }
      } finally {
        await upstream.close()
      }
    },
    async close() {
      child.kill()
      await exited
    },
  }
}
