import type { CpuUsage } from './messages.js'

/** The child's end of `startProgram`. A program whose parent has exited ends at once. */
export function serve<Question>(ready: unknown, answer: (question: Question) => unknown): void {
  const send = (message: object): void => {
    process.send?.(message)
  }
  process.on('disconnect', () => process.exit(0))
  process.on('message', ({ id, question }: { id: number; question: Question }) => {
    Promise.resolve()
      .then(() => answer(question))
      .then(
        (result) => send({ id, result }),
        (error: unknown) => send({ id, error: String(error) }),
      )
  })
  send({ ready })
}

/** The `setup` from the parent. */
export function readSetup<Setup>(): Setup {
  return JSON.parse(process.argv[2]!) as Setup
}

/** The CPU time of this process, which has no database in it. */
export function ownCpuUsage(): CpuUsage {
  const { user, system } = process.cpuUsage()
  return { microseconds: user + system, databaseMicroseconds: 0 }
}
