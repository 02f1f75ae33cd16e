/** Loaded before all test files (bunfig.toml): its hook runs after the last one. */
import { afterAll } from 'bun:test'
import { removeLeftovers } from './leftovers.ts'

afterAll(removeLeftovers)
