/** Requests that arrive on a schedule, on plain sockets. Every job ends by itself. */
import type { OpenJob } from '../lib/messages.js'
import { OpenRun } from '../lib/open-run.js'
import { serve } from '../lib/serve.js'

serve<OpenJob>({}, (job) => new OpenRun(job).result())
