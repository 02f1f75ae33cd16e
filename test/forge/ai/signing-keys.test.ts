/** Keys and signatures are those of ssh: what is made here, ssh-keygen takes, and the other way round. */
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { keyFrom, type Signature, SigningKeys } from '../../../forge/ai/signing-keys.ts'
import { refusedBy } from '../../support/refusals.ts'

const BYTES = Buffer.from('what is signed')

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'forge-keys-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const keysOf = (who: string) => new SigningKeys(join(folder, who))
const at = (...path: string[]) => join(folder, ...path)

/** Gives what ssh-keygen says of a signature by the allowed signers of one user. */
async function verifiedBySsh(who: string, signature: Signature, principal: string, namespace: string) {
  const lines = signature.signature.replace(/.{70}/g, '$&\n')
  await writeFile(at('sig'), `-----BEGIN SSH SIGNATURE-----\n${lines}\n-----END SSH SIGNATURE-----\n`)
  const args = ['-Y', 'verify', '-f', at(who, 'allowed_signers'), '-I', principal, '-n', namespace, '-s', at('sig')]
  const child = Bun.spawn(['ssh-keygen', ...args], { stdio: [BYTES, 'pipe', 'pipe'] })
  const [words] = await Promise.all([child.stdout.text(), child.stderr.text()])
  return (await child.exited) === 0 ? words : undefined
}

test('ssh-keygen takes the list of trusted keys and the signatures, each for its purpose alone', async () => {
  const [mine, other] = [keysOf('mine'), keysOf('other')]
  const line = await other.ownLine()
  const { words, name } = await mine.trust(line, ['result'])
  expect((await Bun.$`ssh-keygen -l -f ${at('other/signing_key')}`.text()).split(' ')[1]).toBe(name)
  const result = await other.sign(BYTES, 'result')
  const approval = await other.sign(BYTES, 'approval')
  expect(await verifiedBySsh('mine', result, words, 'forge-result')).toStartWith('Good "forge-result" signature')
  expect(await verifiedBySsh('mine', approval, words, 'forge-approval')).toBeUndefined()

  const [results, approvals] = [await mine.counting('result'), await mine.counting('approval')]
  expect([results.hasSigned(result, BYTES), results.hasSigned(approval, BYTES)]).toEqual([true, false])
  expect([approvals.hasSigned(result, BYTES), approvals.hasSigned(approval, BYTES)]).toEqual([false, false])
  expect(results.hasSigned(result, Buffer.from('what is signeD'))).toBe(false)
})

test('a list and a signature that ssh-keygen has made are taken as it takes them', async () => {
  await Bun.$`mkdir -p ${at('mine')}`
  await Bun.$`ssh-keygen -q -t ed25519 -N '' -f ${at('key')}`
  const [type, key] = (await readFile(at('key.pub'), 'utf8')).split(' ')
  await writeFile(at('mine/allowed_signers'), `# team\npia@one ${type} ${key} a comment\n`)
  await writeFile(at('bytes'), BYTES)
  await Bun.$`ssh-keygen -q -Y sign -n forge-approval -f ${at('key')} ${at('bytes')}`.quiet()
  const armored = await readFile(at('bytes.sig'), 'utf8')
  const signature = armored
    .split('\n')
    .filter(line => line && !line.startsWith('---'))
    .join('')
  const [trusted] = await keysOf('mine').trusted()
  expect(trusted).toMatchObject({ words: 'pia@one', purposes: ['approval', 'result'] })
  const counting = await keysOf('mine').counting('approval')
  expect(counting.hasSigned({ key: trusted?.name ?? '', signature }, BYTES)).toBe(true)
  for (const broken of ['', 'AAAA', signature.slice(0, 80), signature.replace(/^..../, 'AAAA')])
    expect(counting.hasSigned({ key: trusted?.name ?? '', signature: broken }, BYTES)).toBe(false)
})

test('no byte of a signature can be changed', async () => {
  const keys = keysOf('mine')
  const { key, signature } = await keys.sign(BYTES, 'result')
  const counting = await keys.counting('result')
  const sent = Buffer.from(signature, 'base64')
  const taken = [...sent.keys()].filter(index => {
    const changed = Buffer.from(sent)
    changed[index] = (changed[index] ?? 0) ^ 1
    return counting.hasSigned({ key, signature: changed.toString('base64') }, BYTES)
  })
  expect([sent.length > 150, taken]).toEqual([true, []])
})

test('only a key of ed25519 is trusted, and never this machine\u2019s own; lines that limit a key otherwise are not read', async () => {
  const keys = keysOf('mine')
  const own = await keys.ownLine()
  expect(await refusedBy(keys.trust(own, ['result']))).toThrow('This is the key of this machine, which always counts.')
  await Bun.$`ssh-keygen -q -t rsa -N '' -f ${at('rsa')}`
  for (const words of ['', 'a key', 'ssh-ed25519 AAAA', await readFile(at('rsa.pub'), 'utf8')])
    expect(await refusedBy(keys.trust(words, ['result']))).toThrow('is no key of Forge: give the line that forge trust')
  const other = await keysOf('other').ownLine()
  await writeFile(at('mine/allowed_signers'), `pia valid-before="20200101" ${other}\npia cert-authority ${other}\n`)
  expect(await keys.trusted()).toEqual([])
  expect(await refusedBy(keys.distrust('pia'))).toThrow('No trusted key is called pia: forge trust lists them.')
  await writeFile(at('other.pub'), `${other}\n`)
  expect((await keyFrom('other.pub', at('other.pub'))).trim()).toBe(other)
})

test('keys that are trusted at the same moment are all in the list, and a list that is too long stays as it is', async () => {
  const folders = ['one', 'two', 'three', 'four']
  const lines = await Promise.all(folders.map(name => keysOf(`at once ${name}`).ownLine()))
  await Promise.all(lines.map(line => keysOf('at once').trust(line, ['result'])))
  expect(await keysOf('at once').trusted()).toHaveLength(lines.length)
  expect(await readdir(join(folder, 'at once'))).toEqual(['allowed_signers'])
  const list = join(folder, 'at once/allowed_signers')
  const long = `${await readFile(list, 'utf8')}${'# a comment\n'.repeat(100_000)}`
  await writeFile(list, long)
  expect(await refusedBy(keysOf('at once').trust(lines[0] ?? '', ['approval']))).toThrow('has more than 1000000 bytes')
  expect(await readFile(list, 'utf8')).toBe(long)
})

test('a list that others can change, and a key that others can read, are not used', async () => {
  const keys = keysOf('mine')
  await keys.trust(await keysOf('other').ownLine(), ['result'])
  expect((await stat(at('mine/allowed_signers'))).mode & 0o777).toBe(0o600)
  await chmod(at('mine/allowed_signers'), 0o666)
  expect(await refusedBy(keys.counting('result'))).toThrow('allowed_signers can be changed by others: move it away')
})

test('a home that was copied to another machine is noticed, as two machines have one key then', async () => {
  const mine = keysOf('mine')
  const line = await mine.ownLine()
  expect(await mine.copied()).toBeUndefined()
  expect(await refusedBy(mine.trust(line, ['result']))).toThrow('This is the key of this machine')
  // On the other machine, the same key stands under another name.
  const theirs = line.replace(/\S+$/, 'max@two')
  expect(await refusedBy(mine.trust(theirs, ['result']))).toThrow('This machine and max@two have the same key')
  await Bun.$`ssh-keygen -q -c -C max@two -f ${at('mine/signing_key')}`.quiet()
  expect(await mine.copied()).toStartWith('It was made for max@two: if this home is a copy of that one')
  expect(await mine.ownName()).toBe(
    (await Bun.$`ssh-keygen -l -f ${at('mine/signing_key')}`.text()).split(' ')[1] ?? '',
  )
})
