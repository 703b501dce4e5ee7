import type { Command } from 'commander'
import type { ModelRequest } from '../../admin/index.js'
import { readJsonFile } from '../session/parse.js'
import type { CommandContext } from '../session/session.js'

export function addModelCommands(program: Command, session: CommandContext): void {
  const models = program.command('models').description('manage the models on offer and their prices')
  models
    .command('put <file>')
    .description('add or replace models from JSON, one or a list; - reads standard input')
    .action(async (path: string) => {
      const read = await readJsonFile<ModelRequest | ModelRequest[]>(path, session)
      const admin = await session.admin()
      for (const [position, model] of [read].flat().entries()) {
        await admin.models.put(model).catch((cause: Error) => {
          if (!Array.isArray(read)) throw cause
          throw new Error(`Item ${position + 1} of the list: ${cause.message}`, { cause })
        })
        session.say(`${model.id} is in the catalogue`)
      }
    })
  models
    .command('remove <model>')
    .description('remove a model from the catalogue')
    .action(async (id: string) => {
      const known = await (await session.admin()).models.remove(id)
      if (!known) throw new Error(`There is no model ${id}`)
      session.say(`${id}: removed`)
    })
  models
    .command('list')
    .description('list all models')
    .action(async () => {
      const rows = await (await session.reader()).models.list()
      session.show(
        rows,
        rows.map((model) => ({
          model: model.id,
          input: model.prices?.input,
          output: model.prices?.output,
          context: model.contextLength,
          version: model.priceVersion,
        })),
      )
    })
}
