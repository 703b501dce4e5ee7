import { Worker } from 'node:worker_threads'
import { pathOfOwn } from '../base/own-files.js'
import type { AnswerMessage, Answers, FaultCells, Question, WorkerStart } from './messages.js'

/** A thread with one connection. The first question starts it, and the next one restarts it if it has died. */
export interface WorkerClient {
  ask<Kind extends Question['kind']>(question: Extract<Question, { kind: Kind }>): Promise<Answers[Kind]>
  /** Closes the connection once all earlier questions are answered. */
  close(): Promise<void>
}

/** A fault of the database. `code` is SQLite's, such as `SQLITE_FULL`. */
class SqliteFault extends Error {
  override readonly name: string
  readonly code: string | undefined

  constructor({ name, message, code }: FaultCells) {
    super(message)
    this.name = name
    this.code = code
  }
}

/** The state of the file, shared by the threads of one process. */
export interface FileState {
  isUpToDate: boolean
}

interface Pending {
  readonly resolve: (answer: Answers[keyof Answers]) => void
  readonly reject: (error: unknown) => void
}

/**
 * Hides `new Worker` from `next build`, which looks for the file of each worker. If it cannot determine the name, it
 * bundles all files of the folder and fails at the type declarations.
 */
class Thread extends Worker {}

/** @param isDurable whether each commit waits for the disk */
export function createWorkerClient(file: string, state: FileState, isDurable = true): WorkerClient {
  const pending = new Map<number, Pending>()
  let worker: Worker | undefined
  let lastNumber = 0
  let closing: Promise<void> | undefined

  function start(): Worker {
    const start: WorkerStart = { file, isUpToDate: state.isUpToDate, isDurable }
    const started = new Thread(pathOfOwn('sqlite-worker.cjs'), { workerData: start, execArgv: [] })
    started.on('message', (message: AnswerMessage) => {
      const asked = pending.get(message.number)
      if (asked === undefined) return
      pending.delete(message.number)
      if (pending.size === 0 && closing === undefined) started.unref()
      if ('answer' in message) {
        state.isUpToDate = true
        asked.resolve(message.answer)
      } else {
        asked.reject(new SqliteFault(message.fault))
      }
    })
    let cause: unknown
    started.on('error', (error) => {
      cause = error
    })
    started.on('exit', (exitCode) => {
      if (worker === started) worker = undefined
      const error = toExitError(exitCode, cause)
      for (const { reject } of pending.values()) reject(error)
      pending.clear()
    })
    return started
  }

  function ask(question: Question): Promise<Answers[keyof Answers]> {
    return new Promise((resolve, reject) => {
      worker ??= start()
      const number = ++lastNumber
      pending.set(number, { resolve, reject })
      // Only a pending question keeps the process alive.
      worker.ref()
      worker.postMessage({ number, question })
    })
  }

  return {
    async ask<Kind extends Question['kind']>(question: Extract<Question, { kind: Kind }>) {
      if (closing !== undefined) throw new Error('The store is closed')
      return (await ask(question)) as Answers[Kind]
    },
    close() {
      closing ??= (async () => {
        if (worker === undefined) return
        await ask({ kind: 'close' })
        // Not by the thread itself: Deno gives it no way to do so.
        await worker?.terminate()
      })()
      return closing
    },
  }
}

function toExitError(exitCode: number, cause: unknown): Error {
  const isDriverMissing =
    cause instanceof Error && /Cannot find (module|package) '@?libsql/.test(cause.message)
  const message = isDriverMissing
    ? 'compat-router/sqlite needs the package libsql beside it: npm install libsql'
    : `The SQLite thread ended with exit code ${exitCode}`
  return new Error(message, { cause })
}
