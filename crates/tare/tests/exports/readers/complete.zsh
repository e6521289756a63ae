# Types a line in an interactive zsh, completes it, and writes the line and the candidates into a file.
# Usage: zsh -f complete.zsh FOLDER-OF-_tare LINE FILE
zmodload zsh/zpty || exit 3
zpty shell zsh -f -i
tell() { zpty -w shell "$1" }
tell "unsetopt prompt_cr prompt_sp; PROMPT= RPS1=; fpath=(${(q)1} \$fpath); autoload -Uz compinit; compinit -u -D; bindkey -e"
# What is offered is written down on its way; calls that only ask are left alone.
tell 'compadd() { if [[ "$*" = *-[AOD]\ * ]]; then builtin compadd "$@"; else local -a hits; builtin compadd -A hits "$@"; offered+=($hits); builtin compadd "$@"; fi }'
tell "typed() { offered=(); zle complete-word; print -rl -- \"\$BUFFER\" \$offered > ${(q)3}.new; mv ${(q)3}.new ${(q)3}; BUFFER= }; zle -N typed; bindkey '^G' typed"
zpty -n -w shell "$2"$'\a'
for _ in {1..300}; do [[ -s $3 ]] && break; sleep 0.1; done
zpty -d shell
