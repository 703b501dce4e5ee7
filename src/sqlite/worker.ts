import { parentPort, workerData } from 'node:worker_threads'
import { type Connection, openConnection } from './connection.js'
import { expireHolds } from './hold-rows.js'
import { createLedgerTransaction } from './ledger-transaction.js'
import {
  type AnswerMessage,
  type Answers,
  type FaultCells,
  type InsertQuestion,
  type Question,
  type QuestionMessage,
  unpackColumn,
  type WorkerStart,
} from './messages.js'
import { migrate } from './migrations.js'

// The entry of a worker thread with one connection to the file. It answers one question at a time.
const port = parentPort
if (port === null) throw new Error('sqlite-worker is started by compat-router/sqlite, not imported')

const { file, isUpToDate, isDurable } = workerData as WorkerStart
let answer: ((question: Question) => Answers[keyof Answers]) | undefined

port.on('message', ({ number, question }: QuestionMessage) => {
  let message: AnswerMessage
  try {
    if (answer === undefined && question.kind !== 'close') answer = createAnswers()
    message = { number, answer: answer?.(question) ?? null }
  } catch (error) {
    message = { number, fault: toFaultCells(error) }
  }
  port.postMessage(message)
})

function createAnswers(): (question: Question) => Answers[keyof Answers] {
  const connection: Connection = openConnection(file, isDurable)
  try {
    if (!isUpToDate) migrate(connection, file)
  } catch (error) {
    connection.close()
    throw error
  }
  const ledger = createLedgerTransaction(connection)
  return (question) => {
    switch (question.kind) {
      case 'ledger':
        return ledger.apply(question.commands, question.process)
      case 'expire':
        return expireHolds(connection, question.limit)
      case 'batch':
        return connection.batch(question.statements)
      case 'insert':
        insertRows(connection, question)
        return null
      case 'close':
        connection.close()
        return null
    }
  }
}

function insertRows(connection: Connection, question: InsertQuestion): void {
  const columns = question.columns.map(unpackColumn)
  connection.transaction(() => {
    const insert = connection.prepare(question.text)
    const count = columns[0]!.length
    for (let row = 0; row < count; row++) insert.run(columns.map((cells) => cells[row]))
  })
}

function toFaultCells(error: unknown): FaultCells {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) }
  const code = (error as { code?: unknown }).code
  return {
    name: error.name,
    message: error.message,
    ...(typeof code === 'string' && { code }),
  }
}
