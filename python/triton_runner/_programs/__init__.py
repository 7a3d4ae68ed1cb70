"""Holds what verbs share: programs that run and are seen, and the options with which verbs take them.

- programs, given: the words that name a program, a case or a kernel of a file, and one launch of it
- options, settings, ci: options of commands, and what becomes of their results
- asked, watched, look: who watches launches, a program in a process of its own, and the command to look
  closer"""
